package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/store/docs"
)

// golden are files as record-v2 stores write them, and what is in them. Never edited. The checksums
// were computed with another program.
var golden = []struct {
	file    string
	version docs.Version
	value   string
}{
	{`{"v":1,"version":1,"value":{"a":[1,1e+21,"é"],"b":null},"checksum":` +
		`"60ba25d88d899ec923887f0972258c1b570e1b82ae355db03c274d058b3a6f0b"}`, 1,
		`{"a":[1,1e+21,"é"],"b":null}`},
	{`{"v":1,"version":7,"value":"x","checksum":` +
		`"b56d87c6d133f5f02061fc6c32a0f2a4bdd303ca8bdbd99a5ac5370f7185888b"}`, 7, `"x"`},
	{`{"v":1,"version":9007199254740991,"value":{},"checksum":` +
		`"4931b163f60653015b8753623cf84b50aa0260026cc709ebd34a91df0c13521d"}`, docs.MaxVersion, `{}`},
}

func TestFilesOfPeers(t *testing.T) {
	f := newFolder(t)
	for i, g := range golden {
		key := fmt.Sprint("k", i)
		noError(t, os.WriteFile(f.Path(key), []byte(g.file), 0o600))
		d, err := f.Load(always, key)
		if err != nil || d.Version != g.version || string(d.Value) != g.value {
			t.Errorf("%s: %v: %s, %v", g.file, d.Version, d.Value, err)
		}
		// However they put it.
		spaced := strings.NewReplacer(`{"v":1,"version"`, "\n{ \"version\"", `,"checksum"`,
			`, "v" : 1.0, "checksum"`).Replace(g.file) + "\n"
		noError(t, os.WriteFile(f.Path(key), []byte(spaced), 0o600))
		if again, err := f.Load(always, key); err != nil || string(again.Value) != g.value {
			t.Errorf("%s: %v: %s, %v", spaced, again.Version, again.Value, err)
		}
	}
	keys, err := f.List(always)
	if err != nil || len(keys) != len(golden) {
		t.Errorf("List: %q, %v", keys, err)
	}
	// After the last version there is none.
	_, err = f.CompareAndSwap(always, "k2", docs.MaxVersion, []byte("1"))
	if !errors.Is(err, docs.ErrLastVersion) {
		t.Errorf("a version above the largest: %v", err)
	}
	noError(t, f.Delete(always, "k2", docs.MaxVersion))
	_, err = f.CompareAndSwap(always, "k2", docs.Absent, []byte("1"))
	if !errors.Is(err, docs.ErrLastVersion) {
		t.Errorf("a version that was used before: %v", err)
	}
	if e, ok := errors.AsType[*docs.Error](err); !ok || e.Next != "keep it under another key" {
		t.Errorf("%v does not say what next", err)
	}
}

// What is written is byte for byte what peers write.
func TestFilesForPeers(t *testing.T) {
	f := newFolder(t)
	put := func(key string, expected docs.Version, value string) {
		t.Helper()
		_, err := f.CompareAndSwap(always, key, expected, []byte(value))
		noError(t, err)
	}
	put("a", docs.Absent, `{"b":null,"a":[1.0,1E21,"\u00e9"]}`)
	for v := range docs.Version(7) {
		put("b", v, `"x"`)
	}
	for i, key := range []string{"a", "b"} {
		if data, err := os.ReadFile(filepath.Join(f.Dir(), key+".doc.json")); err != nil ||
			string(data) != golden[i].file {
			t.Errorf("%s, %v; want %s", data, err, golden[i].file)
		}
	}
}

// Every file that is cut short, has one byte changed, or is otherwise not what it says, is corrupt,
// and stays as it is.
func TestCorruptFiles(t *testing.T) {
	f := newFolder(t)
	whole := golden[0].file
	bad := []string{"null", "[]", "1", whole + "{", whole + whole,
		strings.Replace(whole, `"v":1`, `"v":2`, 1), strings.Replace(whole, `"v":1,`, "", 1),
		strings.Replace(whole, `"version":1`, `"version":2`, 1),
		strings.Replace(whole, `"version":1`, `"version":0`, 1),
		strings.Replace(whole, `"version":1`, `"version":-1`, 1),
		strings.Replace(whole, `"version":1`, `"version":"1"`, 1),
		strings.Replace(whole, `"version":1`, `"version":1.5`, 1),
		strings.Replace(whole, `"version":1`, `"version":9007199254740992`, 1),
		strings.Replace(whole, `"v":1`, `"v":1,"v":1`, 1),
		strings.Replace(whole, `"v":1`, `"v":1,"more":1`, 1),
		strings.Replace(whole, "60ba", "60BA", 1), strings.Repeat("\x00", len(whole)),
		strings.Replace(whole, `"v"`, `"V"`, 1), "\ufeff" + whole}
	for i := range len(whole) {
		bad = append(bad, whole[:i])
		changed := []byte(whole)
		changed[i] ^= 1
		bad = append(bad, string(changed))
	}
	for _, text := range bad {
		noError(t, os.WriteFile(f.Path("a"), []byte(text), 0o600))
		d, err := f.Load(always, "a")
		if !errors.Is(err, docs.ErrCorrupt) || d.Value != nil {
			t.Errorf("Load of %q: %v, %v", text, d, err)
		}
		if e, ok := errors.AsType[*docs.Error](err); !ok || e.Path != f.Path("a") || e.Step == "" ||
			e.Next == "" {
			t.Errorf("%v leaves something out", err)
		}
		if _, err := f.CompareAndSwap(always, "a", 1, []byte("1")); !errors.Is(
			err,
			docs.ErrCorrupt,
		) {
			t.Errorf("CompareAndSwap on %q: %v", text, err)
		}
		if now, err := os.ReadFile(f.Path("a")); err != nil || string(now) != text {
			t.Fatalf("%q was changed to %q, %v", text, now, err)
		}
	}
}

// A damaged memory of a deletion keeps the key from going back to versions that were used.
func TestCorruptDeletion(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	noError(t, f.Delete(always, "a", 1))
	path := filepath.Join(f.Dir(), "a.doc.deleted")
	for _, text := range []string{"", "{}", `{"v":1,"version":1,"checksum":"00"}`} {
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
		if e, ok := errors.AsType[*docs.Error](err); !errors.Is(err, docs.ErrCorrupt) || !ok ||
			e.Path != path {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := f.Load(always, "a"); !errors.Is(err, docs.ErrMissing) {
		t.Errorf("%v", err)
	}
	noError(t, os.Remove(path))
	_, err = f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
}

// Files of others are nobody's documents, and documents of others keep nobody from ours.
func TestForeignFiles(t *testing.T) {
	f := newFolder(t)
	for _, name := range []string{"x.json", "doc.json", ".doc.json", "a b.doc.json", "y.doc.json.tmp",
		"z.doc.deleted", strings.Repeat("k", 121) + ".doc.json", "notes.txt"} {
		noError(t, os.WriteFile(filepath.Join(f.Dir(), name), []byte("x"), 0o600))
	}
	noError(t, os.Mkdir(f.Path("folder"), 0o700))
	keys, err := f.List(always)
	if err != nil || len(keys) != 0 {
		t.Errorf("List: %q, %v", keys, err)
	}
	if _, err := f.Load(always, "folder"); err == nil || errors.Is(err, docs.ErrMissing) {
		t.Errorf("Load of a folder: %v", err)
	}
	if _, err := f.CompareAndSwap(always, "folder", docs.Absent, []byte("1")); err == nil {
		t.Error("a folder was replaced")
	}
	_, err = f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	noError(t, os.WriteFile(file, nil, 0o600))
	for _, err := range []error{
		second(docs.OpenFolder(filepath.Join(dir, "missing"), docs.FolderOptions{})),
		second(docs.OpenFolder(file, docs.FolderOptions{})),
		second(docs.OpenFolder(dir, docs.FolderOptions{Mode: 0o400})),
		second(docs.OpenFolder(dir, docs.FolderOptions{MaxBytes: -1})),
	} {
		if e, ok := errors.AsType[*docs.Error](err); !ok || e.Path == "" || e.Step == "" ||
			e.Next == "" {
			t.Errorf("error is %v", err)
		}
	}
	small, err := docs.OpenFolder(dir, docs.FolderOptions{MaxBytes: 150, Mode: 0o640})
	noError(t, err)
	_, err = small.CompareAndSwap(
		always,
		"a",
		docs.Absent,
		[]byte(`"`+strings.Repeat("x", 100)+`"`),
	)
	if err == nil {
		t.Error("a file was written that is too large to be read")
	}
	_, err = small.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
}

func second(_ *docs.Folder, err error) error { return err }
