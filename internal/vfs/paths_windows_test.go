package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Names that Win32 takes for a device, a stream or another name are refused, everywhere, and
// nothing is made or changed. Others that look odd are names.
func TestStrangeNames(t *testing.T) {
	d := openTemp(t, "")
	put(t, d, "a", "x").Close()
	for _, name := range []string{"NUL", "nul", "CON", "con", "COM1", "lpt9", "CONIN$", "a:b", "a:", ":b",
		"a::$DATA", "b.", "b ", "b. .", ".. ", "...", `b\c`, `..\b`, `C:b`, `\\?\b`} {
		for op, err := range map[string]error{
			"open": second(d.Open(name, Read)), "create": second(d.Create(name, 0o600)),
			"stat": second(d.Stat(name)), "pin": second(d.Pin(name)), "remove": d.Remove(name),
			"rename": d.Rename("a", name), "from": d.Rename(name, "b"), "link": d.Link("a", name),
			"no replace": d.RenameNoReplace("a", name), "out": second(d.TakeOut(name, "", yes)),
		} {
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %q: %v", op, name, err)
			}
		}
		path := filepath.Join(d.Path(), name)
		if strings.ContainsAny(name, `\`) {
			continue // another directory, or another volume
		}
		if dir, base, err := OS().Resolve(d.Path() + `\` + name); err == nil {
			t.Errorf("Resolve(%q) = %q, %q", path, dir, base)
		}
	}
	names, err := d.Names()
	must{t}.ok(err)
	if len(names) != 1 || content(t, d, "a") != "x" {
		t.Errorf("there are %q now", names)
	}
	for _, name := range []string{"nulx", "COM", "com10", ".a", "ä€😀", "a b", "~x~1", "x=[y];{z}"} {
		put(t, d, name, name).Close()
		if got := content(t, d, name); got != name {
			t.Errorf("%q reads %q", name, got)
		}
		must{t}.ok(d.Remove(name))
	}
}

// One file has one identity, whatever its name's case, and another file has another.
func TestCaseDoesNotMatter(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	put(t, d, "State.Lock", "x").Close()
	m.is(second(d.Create("STATE.lock", 0o600)), fs.ErrExist)
	m.is(d.RenameNoReplace("state.lock", "State.Lock.tmp"), nil)
	m.ok(d.RenameNoReplace("state.lock.TMP", "State.Lock"))
	a, err := d.Stat("State.Lock")
	m.ok(err)
	b, err := d.Stat("STATE.LOCK")
	m.ok(err)
	put(t, d, "other", "x").Close()
	c, err := d.Stat("other")
	m.ok(err)
	if !a.SameFile(b) || a.SameFile(c) || a.Inode == 0 || a.Device == 0 {
		t.Errorf("%+v, %+v, %+v", a, b, c)
	}
}

// Paths over 260 characters, of directories and files, and the forms in which paths are written.
func TestLongPaths(t *testing.T) {
	m := must{t}
	root := openTemp(t, "").Path()
	long := filepath.Join(root, strings.Repeat("d", 120), strings.Repeat("e", 120),
		strings.Repeat("f", 120))
	m.ok(os.MkdirAll(long, 0o700))
	name := strings.Repeat("n", 200)
	for _, path := range []string{long, long + `\`, `\\?\` + long, filepath.ToSlash(long)} {
		d, err := OS().OpenDir(path)
		m.ok(err)
		put(t, d, "temp", "text").Close()
		m.ok(d.RenameNoReplace("temp", name))
		if got := content(t, d, name); got != "text" {
			t.Errorf("%s reads %q", path, got)
		}
		m.ok(d.Sync())
		m.ok(d.Remove(name))
		m.ok(d.Close())
	}
	dir, base, err := OS().Resolve(filepath.Join(long, name))
	if err != nil || base != name || !strings.EqualFold(dir, long) {
		t.Errorf("Resolve: %q, %q, %v", dir, base, err)
	}
	d, err := OS().OpenDir(long)
	m.ok(err)
	defer d.Close()
	if _, err := d.Create(strings.Repeat("n", 256), 0o600); err == nil {
		t.Error("a name of 256 characters")
	}
}

// verbatim leaves nothing for the system to interpret.
func TestVerbatim(t *testing.T) {
	for path, want := range map[string]string{
		`C:\a\b`:               `\\?\C:\a\b`,
		`C:/a/./b/../c`:        `\\?\C:\a\c`,
		`\\server\share\a`:     `\\?\UNC\server\share\a`,
		`//server/share/a`:     `\\?\UNC\server\share\a`,
		`\\?\C:\a\..\b`:        `\\?\C:\a\..\b`,
		`\\?\UNC\server\share`: `\\?\UNC\server\share`,
		`\\.\C:\`:              `\\.\C:\`,
	} {
		if got, err := verbatim(path); err != nil || got != want {
			t.Errorf("verbatim(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
}

// Ids of more than 64 bits differ when they differ in any bit, and those of 64 stay as they are.
func TestFoldFileID(t *testing.T) {
	if got := foldFileID(0x12345, 0); got != 0x12345 {
		t.Errorf("%#x", got)
	}
	seen := map[uint64]bool{}
	for bit := range 63 {
		for _, id := range []uint64{foldFileID(1<<bit, 1), foldFileID(1, 2<<bit),
			foldFileID(1<<bit, 0)} {
			if seen[id] {
				t.Errorf("bit %d: %#x twice", bit, id)
			}
			seen[id] = true
		}
	}
}
