package statefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/probate-dev/probate/store/statefile"
)

// A file that is cut short anywhere, zeroed or garbage is reported with the name of the version
// before it, and neither an update nor a save writes over it.
func TestCorrupt(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	noError(t, f.Save(always, counter{}.plus(2)))
	whole, err := os.ReadFile(f.Path())
	noError(t, err)
	damages := [][]byte{make([]byte, len(whole)), []byte("garbage"), append(whole, '{')}
	for n := range len(whole) - 1 { // without the line end it is whole
		damages = append(damages, whole[:n])
	}
	for _, damage := range damages {
		noError(t, os.WriteFile(f.Path(), damage, 0o600))
		_, err := f.Load()
		check := func(err error) {
			t.Helper()
			e := wants(t, err, statefile.ErrCorrupt)
			if e.Previous != f.Previous() || !strings.Contains(err.Error(), e.Previous) {
				t.Errorf("%q: the previous version is not named: %v", damage, err)
			}
		}
		check(err)
		_, err = f.Update(always, func(counter) (counter, error) {
			t.Error("called with a value that is not there")
			return counter{}, nil
		})
		check(err)
		check(f.Save(always, counter{}.plus(9)))
		if now, err := os.ReadFile(f.Path()); err != nil || !bytes.Equal(now, damage) {
			t.Fatalf("the damaged file was changed: %q, %v", now, err)
		}
	}
	if c, err := f.LoadPrevious(); err != nil || c.N != 1 {
		t.Errorf("previous: %+v, %v", c, err)
	}
	free(t, f.Path())
}

// Restore puts the previous version back, and keeps the evidence.
func TestRestore(t *testing.T) {
	f := newFile(t)
	_, err := f.Restore(always)
	wants(t, err, os.ErrNotExist)
	noError(t, f.Save(always, counter{}.plus(1)))
	noError(t, os.WriteFile(f.Path(), []byte("{"), 0o600))
	_, err = f.Restore(always)
	wants(t, err, os.ErrNotExist)
	_, err = f.Load()
	if e := wants(t, err, statefile.ErrCorrupt); e.Previous != "" {
		t.Errorf("%s is named, and does not exist", e.Previous)
	}

	noError(t, os.WriteFile(f.Path(), []byte(`{"n":1,"twice":1}`), 0o600)) // mended by hand
	noError(t, f.Save(always, counter{}.plus(2)))
	c, err := f.Restore(always) // nothing to do
	if noError(t, err); c.N != 2 {
		t.Errorf("%+v", c)
	}
	noError(t, os.WriteFile(f.Path(), []byte(`{"n":2`), 0o600))
	c, err = f.Restore(always)
	if noError(t, err); c.N != 1 {
		t.Errorf("%+v", c)
	}
	stands(t, f, 1, 1)
	kept, err := filepath.Glob(f.Path() + ".damaged-*")
	noError(t, err)
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != `{"n":2` {
		t.Errorf("%s holds %q, %v", kept[0], data, err)
	}
	noError(t, f.Save(always, counter{}.plus(3)))
	noError(t, os.Remove(f.Path()))
	_, err = f.Restore(always)
	noError(t, err)
	stands(t, f, 1, 1)

	// Both damaged: nothing is made up.
	noError(t, os.WriteFile(f.Path(), nil, 0o600))
	noError(t, os.WriteFile(f.Previous(), nil, 0o600))
	_, err = f.Restore(always)
	if e := wants(t, err, statefile.ErrCorrupt); strings.Count(e.Error(), "next: ") > 1 {
		t.Errorf("it says twice what is next: %v", e)
	}
	_, err = f.LoadPrevious()
	wants(t, err, statefile.ErrCorrupt)
	if data, err := os.ReadFile(f.Path()); err != nil || len(data) != 0 {
		t.Errorf("%q, %v", data, err)
	}
}

// What the previous version is does not depend on how the damage looks: a damaged file never
// becomes the previous version.
func TestDamageIsNeverKeptAsPrevious(t *testing.T) {
	f := newFile(t)
	for n := range 3 {
		noError(t, f.Save(always, counter{}.plus(n)))
		good, err := os.ReadFile(f.Path())
		noError(t, err)
		noError(t, os.WriteFile(f.Path(), good[:5], 0o600))
		if err := f.Save(always, counter{}.plus(n)); !errors.Is(err, statefile.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
		noError(t, os.WriteFile(f.Path(), good, 0o600))
	}
	stands(t, f, 2, 1)
}

// Who edits a file by hand is told the line of the mistake.
func TestCorruptNamesTheLine(t *testing.T) {
	f := newFile(t)
	for text, want := range map[string]string{
		"{\"n\": 1,\n\"twice\": 1,,}\n":         "line 2: ",
		"{\"n\": 1,\n \"fill\": \"\"\n\"x\"":    "line 3: ",
		"{\n\n\"n\": \"one\",\n\"twice\": 1}\n": "line 3: ",
		"x":                                     "invalid character",
		"{\"n\": 1.5}": fmt.Sprintf("n is to be a whole number that fits into %d bits, "+
			"and is number 1.5", strconv.IntSize),
		"{\"n\": \"one\"}":                       "and is string",
		"{\"fill\": [\"a\"]}":                    "line 1: fill is to be a string, and is array",
		"[]":                                     "the value is to be an object, and is array",
		"\n":                                     "the file is empty",
		"{\"n\": 1,\n\"twice\": 1":               "the file is cut short",
		"{\"n\": 1,\n\"fill\": \"\xe9\"}":        "line 2: byte 0xe9 is not UTF-8",
		"{\"n\": 1, \"fill\": \"\xed\xa0\x80\"}": "line 1: byte 0xed is not UTF-8",
		"\ufeff{\"n\": 1}":                       "byte order mark",
	} {
		noError(t, os.WriteFile(f.Path(), []byte(text), 0o600))
		_, err := f.Load()
		if wants(t, err, statefile.ErrCorrupt); !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
