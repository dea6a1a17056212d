package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

func init() {
	// maker makes a file in its first argument and keeps it, as the owner of a record does, until
	// its parent says so or kills it.
	children["maker"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		f, err := d.Create("temp", 0o600)
		if err == nil {
			_, err = f.WriteAt([]byte("record"), 0)
		}
		if err == nil {
			err = d.RenameNoReplace("temp", "record")
		}
		if err != nil {
			return err
		}
		say("made")
		wait()
		if err := d.Remove("record"); err != nil {
			return err
		}
		say("removed")
		wait()
		return f.Close()
	}
	// gate takes the gate lock of a file and keeps it.
	children["gate"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		f, err := d.Open("gate", ReadWrite)
		if err == nil {
			err = f.Lock(LockRange)
		}
		if err != nil {
			return err
		}
		say("locked")
		wait()
		return nil
	}
}

func yes(File) (bool, error) { return true, nil }

// What a living process has made, others can read and test, and neither rename, replace, remove nor
// take out. When it is killed, they can.
func TestMakerKeepsItsFile(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	maker := begin(t, command(t, "maker", d.Path()))
	maker.expect("made")
	locked := func(want bool) {
		t.Helper()
		f, err := d.Open("record", Read)
		m.ok(err)
		defer f.Close()
		for range 3 { // testing changes nothing
			if got, err := f.Locked(LockHandle); err != nil || got != want {
				t.Fatalf("locked: %v, %v, want %v", got, err, want)
			}
		}
		if alone, err := f.Alone(); err != nil || alone == want {
			t.Fatalf("alone: %v, %v", alone, err)
		}
	}
	locked(true)
	if got := content(t, d, "record"); got != "record" {
		t.Fatalf("it reads %q", got)
	}
	put(t, d, "other", "x").Close()
	asked := false
	_, taken := d.TakeOut("record", "", func(File) (bool, error) { asked = true; return true, nil })
	for how, err := range map[string]error{
		"remove": d.Remove("record"), "rename": d.Rename("record", "aside"),
		"rename without replacing": d.RenameNoReplace("record", "aside"),
		"replace":                  d.Rename("other", "record"), "take out": taken,
	} {
		if err == nil {
			t.Errorf("%s worked", how)
		} else if how != "replace" && !errors.Is(err, ErrInUse) { // Wine: access denied
			t.Errorf("%s: %v", how, err)
		}
		if errors.Is(err, fs.ErrPermission) && how != "replace" {
			t.Errorf("%s passes for a missing right: %v", how, err)
		}
	}
	if asked {
		t.Error("asked about a file that somebody has open")
	}
	locked(true)
	maker.kill()
	locked(false)
	done, err := d.TakeOut("record", "", yes)
	if !done || err != nil {
		t.Fatalf("take out: %v, %v", done, err)
	}
	m.is(second(d.Stat("record")), fs.ErrNotExist)
}

// The name is free at the moment of the removal, whoever else has the file open.
func TestMakerRemovesItsFile(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	maker := begin(t, command(t, "maker", d.Path()))
	maker.expect("made")
	reader, err := d.Open("record", Read)
	m.ok(err)
	defer reader.Close()
	maker.in.Write([]byte("\n"))
	maker.expect("removed")
	m.is(second(d.Stat("record")), fs.ErrNotExist) // the maker has not closed it yet
	put(t, d, "record", "next").Close()
	maker.in.Write([]byte("\n"))
	maker.expect("done")
	if got := content(t, d, "record"); got != "next" {
		t.Fatalf("the next one reads %q", got)
	}
	b := make([]byte, 6)
	if _, err := reader.ReadAt(b, 0); err != nil || string(b) != "record" {
		t.Fatalf("the reader sees %q, %v", b, err)
	}
}

// TakeOut gives a file back that is not the one, as it was; renames one that is to be kept; and
// while it looks nobody else can open it.
func TestTakeOut(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	put(t, d, "a", "A").Close()
	before, err := d.Stat("a")
	m.ok(err)
	done, err := d.TakeOut("a", "", func(f File) (bool, error) {
		if in, err := f.Stat(); err != nil || !in.SameFile(before) {
			t.Errorf("it is asked about %+v, %v", in, err)
		}
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, 0); err != nil || b[0] != 'A' {
			t.Errorf("it reads %q, %v", b, err)
		}
		m.is(second(d.Open("a", Read)), ErrInUse)
		if in, err := d.Stat("a"); err != nil || !in.SameFile(before) { // looking is no opening
			t.Errorf("Stat: %+v, %v", in, err)
		}
		return false, nil
	})
	if done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	why := errors.New("why")
	if done, err := d.TakeOut("a", "", func(File) (bool, error) { return false, why }); done ||
		err != why {
		t.Fatalf("%v, %v", done, err)
	}
	if now, err := d.Stat("a"); err != nil || now != before || content(t, d, "a") != "A" {
		t.Fatalf("%+v, %v", now, err)
	}
	put(t, d, "kept", "K").Close()
	done, err = d.TakeOut("a", "kept", yes)
	m.is(err, fs.ErrExist)
	if done || content(t, d, "a") != "A" || content(t, d, "kept") != "K" {
		t.Fatal("something was replaced")
	}
	done, err = d.TakeOut("a", "b", yes)
	if m.ok(err); !done || content(t, d, "b") != "A" {
		t.Fatal("it was not kept")
	}
	_, err = d.TakeOut("a", "", yes)
	m.is(err, fs.ErrNotExist)
	m.ok(os.Mkdir(filepath.Join(d.Path(), "dir"), 0o700))
	if done, err = d.TakeOut("dir", "old", yes); !done || err != nil {
		t.Fatalf("a directory: %v, %v", done, err)
	}
}

// Somebody who has the file open, for whatever, is waited for no longer than promised.
func TestTakeOutWaits(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	put(t, d, "a", "A").Close()
	f, err := d.Open("a", Read)
	m.ok(err)
	_, err = d.TakeOut("a", "", yes)
	m.is(err, ErrInUse)
	pin, err := d.Pin("a") // who only pins it is in nobody's way
	m.ok(err)
	defer pin.Close()
	m.ok(f.Close())
	if done, err := d.TakeOut("a", "", yes); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
}

// The gate's lock is a byte that nobody reads: data can be read and written beside it.
func TestGateLeavesDataAlone(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	put(t, d, "gate", "0001").Close()
	holder := begin(t, command(t, "gate", d.Path()))
	holder.expect("locked")
	f, err := d.Open("gate", ReadWrite)
	m.ok(err)
	defer f.Close()
	m.is(f.Lock(LockRange), ErrLocked)
	if locked, err := f.Locked(LockRange); !locked || err != nil {
		t.Fatalf("locked: %v, %v", locked, err)
	}
	_, err = f.WriteAt([]byte("0002"), 0)
	m.ok(err)
	if got := content(t, d, "gate"); got != "0002" {
		t.Fatalf("it reads %q", got)
	}
	holder.kill()
	m.ok(f.Lock(LockRange))
	m.ok(f.Lock(LockRange))
	if in, err := f.Stat(); err != nil || in.Size != 4 {
		t.Fatalf("%+v, %v", in, err)
	}
}

// The kernel lock of the handle kind is on the files that were made here, and on no other.
func TestHandleLock(t *testing.T) {
	m := must{t}
	d := openTemp(t, "")
	f := put(t, d, "a", "x")
	m.ok(f.Lock(LockHandle))
	m.ok(f.Lock(LockHandle))
	if locked, err := f.Locked(LockHandle); locked || err != nil {
		t.Errorf("its own lock: %v, %v", locked, err)
	}
	m.ok(f.Unlock(LockHandle))
	o, err := d.Open("a", ReadWrite)
	m.ok(err)
	defer o.Close()
	if err := o.Lock(LockHandle); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a file that somebody else made: %v", err)
	}
	m.is(f.Lock(LockOFD), errors.ErrUnsupported)
	m.ok(f.Close())
	m.is(f.Lock(LockHandle), os.ErrClosed)
}

// A status of the system and what programs make of it.
func TestStatus(t *testing.T) {
	for status, want := range map[windows.NTStatus]struct {
		is, not error
		errno   windows.Errno
	}{
		windows.STATUS_SHARING_VIOLATION: {ErrInUse, fs.ErrPermission,
			windows.ERROR_SHARING_VIOLATION},
		windows.STATUS_DELETE_PENDING: {ErrInUse, fs.ErrPermission, windows.ERROR_ACCESS_DENIED},
		windows.STATUS_ACCESS_DENIED:  {fs.ErrPermission, ErrInUse, windows.ERROR_ACCESS_DENIED},
		windows.STATUS_OBJECT_NAME_NOT_FOUND: {
			fs.ErrNotExist, ErrInUse, windows.ERROR_FILE_NOT_FOUND,
		},
		windows.STATUS_OBJECT_NAME_COLLISION: {fs.ErrExist, ErrInUse, windows.ERROR_ALREADY_EXISTS},
	} {
		err := pathError("open", `C:\a`, ntError(status))
		errno, ok := errors.AsType[windows.Errno](err)
		if !errors.Is(err, want.is) || errors.Is(err, want.not) || !errors.Is(err, status) ||
			!ok || errno != want.errno {
			t.Errorf("%v: %v, %d", status, err, errno)
		}
	}
}
