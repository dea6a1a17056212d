package ops_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/store/ops"
)

// one returns the only file that matches.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	noError(t, err)
	if len(names) != 1 {
		t.Fatalf("%s: %q", pattern, names)
	}
	return names[0]
}

// told checks that an error is of a kind, names the file, the step and what can be done.
func told(t *testing.T, err, want error, file string) {
	t.Helper()
	e, ok := errors.AsType[*ops.Error](err)
	if !ok || !errors.Is(err, want) || e.Path != file || e.Step == "" || e.Op == "" || e.Next == "" {
		t.Errorf("%v\nwant %q about %s, with a next step", err, want, file)
	}
}

func begin(t *testing.T, s ops.Store, id, environment string) ops.Operation {
	t.Helper()
	op, begun, err := s.Begin(ctx, ops.Request{ID: id, Environment: environment})
	if noError(t, err); !begun {
		t.Fatalf("%s has begun before", id)
	}
	return op
}

func swap(t *testing.T, s ops.Store, op ops.Operation, to ops.Phase) ops.Operation {
	t.Helper()
	now, err := s.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Phase: to})
	noError(t, err)
	return now
}

func get(t *testing.T, s ops.Store, id string) ops.Operation {
	t.Helper()
	op, err := s.Get(id)
	noError(t, err)
	return op
}

// spoils are ways in which a file can be torn.
var spoils = map[string]func(data []byte) []byte{
	"empty":         func([]byte) []byte { return nil },
	"NUL":           func(data []byte) []byte { return make([]byte, len(data)) },
	"half":          func(data []byte) []byte { return data[:len(data)/2] },
	"one byte less": func(data []byte) []byte { return data[:len(data)-1] },
	"first line":    func(data []byte) []byte { return data[:bytes.IndexByte(data, '\n')+1] },
	"second line":   func(data []byte) []byte { return data[bytes.IndexByte(data, '\n')+1:] },
	"half NUL": func(data []byte) []byte {
		return append(data[:len(data)/2:len(data)/2], make([]byte, len(data)/2)...)
	},
	"one bit": func(data []byte) []byte {
		data = bytes.Clone(data)
		data[len(data)/3] ^= 1
		return data
	},
	"twice":   func(data []byte) []byte { return append(bytes.Clone(data), data...) },
	"garbage": func([]byte) []byte { return []byte("not an operation\n") },
	"missing": nil,
}

func spoil(t *testing.T, file string, how func([]byte) []byte) {
	t.Helper()
	if how == nil {
		noError(t, os.Remove(file))
		return
	}
	data, err := os.ReadFile(file)
	noError(t, err)
	// In place, as a power cut does it: a second name of the file would show it too.
	noError(t, os.WriteFile(file, how(data), 0o600))
}

// The newest version torn or gone, in any way and at any revision: the one before it stands in, and
// says so; a revision that somebody may have seen is never given again; what could not be read is
// kept, and other operations are not touched by any of it.
func TestNewestTorn(t *testing.T) {
	for name, how := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir, ops.Options{})
			begin(t, s, "other", "other")
			first := begin(t, s, "r", "e")
			file := one(t, dir, "e-*.op.json")
			spoil(t, file, how)
			got := get(t, s, "r")
			if got.Restored == "" || got.Revision != first.Revision || got.Phase != "planned" {
				t.Fatalf("at its first revision: %+v", got)
			}
			_, _, err := s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
			if !errors.Is(err, ops.ErrBusy) {
				t.Errorf("the environment looks free: %v", err)
			}
			second := swap(t, s, got, "applying")
			third, err := s.RecordOwned(ctx, "r", second.Revision, ops.Resource{Kind: "k", Name: "n"})
			noError(t, err)
			spoil(t, file, how)
			got = get(t, s, "r")
			if got.Restored == "" || got.Revision != second.Revision || len(got.Owned) != 0 {
				t.Fatalf("at revision %d: %+v", third.Revision, got)
			}
			_, err = s.CompareAndSwap(ctx, "r", third.Revision, ops.Change{Data: 1})
			if !errors.Is(err, ops.ErrStale) {
				t.Errorf("from the revision that is lost: %v", err)
			}
			fourth := swap(t, s, got, "applied")
			if fourth.Revision <= third.Revision {
				t.Errorf("revision %d was given again", fourth.Revision)
			}
			spoil(t, file, how)
			if got = get(t, s, "r"); got.Restored == "" || got.Phase != "applying" {
				t.Fatalf("when it was finished: %+v", got)
			}
			fifth := swap(t, s, got, "applied")
			if got = get(t, s, "r"); got.Restored != "" || got.Revision != fifth.Revision {
				t.Errorf("written again: %+v", got)
			}
			if lines := summary(t, s); len(lines) != 2 {
				t.Errorf("all there is: %q", lines)
			}
			kept, err := filepath.Glob(filepath.Join(dir, "damaged", "*"))
			if noError(t, err); (len(kept) == 1) != (how != nil) {
				t.Errorf("kept: %q", kept)
			}
			if got := get(t, s, "other"); got.Restored != "" || got.Revision != 1 {
				t.Errorf("the other operation: %+v", got)
			}
		})
	}
}

// A finished operation of which only the previous copy is left moves on like any other.
func TestFinishedFromPreviousCopy(t *testing.T) {
	for _, how := range []string{"half", "missing"} {
		for _, then := range []string{"begin", "archive"} {
			dir := t.TempDir()
			s := open(t, dir, ops.Options{})
			op := begin(t, s, "r", "e")
			swap(t, s, op, "cancelled")
			file := one(t, dir, "e-*.op.json")
			data, err := os.ReadFile(file)
			noError(t, err)
			noError(t, os.WriteFile(one(t, dir, "e-*.op.prev"), data, 0o600))
			spoil(t, file, spoils[how])
			if got := get(t, s, "r"); got.Restored == "" || got.Phase != "cancelled" {
				t.Fatalf("%+v", got)
			}
			if then == "begin" {
				begin(t, s, "s", "e")
			} else if n, err := s.ArchiveFinished(ctx); err != nil || n != 1 {
				t.Fatalf("archive: %d, %v", n, err)
			}
			if got := get(t, s, "r"); got.Phase != "cancelled" || got.Archived != (then == "archive") ||
				got.Restored != "" {
				t.Errorf("%s, then %s: %+v", how, then, got)
			}
			if lines := summary(t, s); then == "begin" && len(lines) != 2 || then != "begin" && len(lines) != 1 {
				t.Errorf("%s, then %s: %q", how, then, lines)
			}
		}
	}
}

// blocked checks that a file blocks what it is about, is named, is left as it is, and that
// everything else works.
func blocked(t *testing.T, dir string, want error, file string, about func(s *ops.Folder) []error) {
	t.Helper()
	s := open(t, dir, ops.Options{})
	before := files(t, dir)
	for n, err := range about(s) {
		if err == nil {
			t.Errorf("try %d succeeded", n)
			continue
		}
		told(t, err, want, file)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("what was refused has changed something:\n%q\n%q", before, after)
	}
	var named int
	for r, err := range s.Recoverable() {
		if err != nil {
			told(t, err, want, file)
			named++
		} else if r.Operation.ID != "sound" {
			t.Errorf("recoverable: %+v", r.Operation)
		}
	}
	all := map[string]bool{}
	for op, err := range s.All() {
		if err != nil {
			told(t, err, want, file)
			named++
		}
		all[op.ID] = true
	}
	if !all["sound"] {
		t.Error("All does not have the sound one")
	}
	begin(t, s, "new", "new environment")
	swap(t, s, get(t, s, "new"), "cancelled")
	swap(t, s, get(t, s, "sound"), "cancelled")
	if n, err := s.ArchiveFinished(ctx); n != 2 || err != nil && !errors.Is(err, want) {
		t.Errorf("archive: %d, %v", n, err)
	}
}

// Both copies torn: the environment is blocked, by name, and nothing else is.
func TestBothCopiesTorn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, ops.Options{})
	begin(t, s, "sound", "sound")
	swap(t, s, begin(t, s, "r", "e"), "applying")
	file := one(t, dir, "e-*.op.json")
	spoil(t, file, spoils["half"])
	spoil(t, one(t, dir, "e-*.op.prev"), spoils["one bit"])
	blocked(t, dir, ops.ErrDamaged, file, func(s *ops.Folder) []error {
		_, get := s.Get("r")
		_, _, again := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"})
		_, _, other := s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
		_, swap := s.CompareAndSwap(ctx, "r", 2, ops.Change{Phase: "applied"})
		_, _, accept := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r"})
		return []error{get, again, other, swap, accept}
	})
}

// A file of a later version is not taken for a torn one: it is never replaced, and its previous
// copy does not stand in for it.
func TestNewerVersion(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"version":    func(s string) string { return strings.Replace(s, `{"v":1,`, `{"v":2,`, 1) },
		"version 10": func(s string) string { return strings.Replace(s, `{"v":1,`, `{"v":10,`, 1) },
		"torn":       func(s string) string { return `{"v":2,"ki` },
		"other end":  func(s string) string { return `{"v":2,"checksum":"none"}` },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, ops.Options{})
			begin(t, s, "sound", "sound")
			swap(t, s, begin(t, s, "r", "e"), "applying")
			file := one(t, dir, "e-*.op.json")
			spoil(t, file, func(data []byte) []byte { return []byte(change(string(data))) })
			blocked(t, dir, ops.ErrNewer, file, func(s *ops.Folder) []error {
				_, get := s.Get("r")
				_, _, other := s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
				_, swap := s.CompareAndSwap(ctx, "r", 2, ops.Change{Phase: "applied"})
				return []error{get, other, swap}
			})
		})
	}
}

// A finished operation, a request or a nonce that cannot be read blocks its own name.
func TestSmallFilesTorn(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		about func(s *ops.Folder) []error
	}{
		"finished": {"finished/r-*.op.json", func(s *ops.Folder) []error {
			_, get := s.Get("r")
			_, _, again := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"})
			_, _, accept := s.Accept(ctx, ops.Receipt{Nonce: "m", Operation: "r"})
			return []error{get, again, accept}
		}},
		"request": {"requests/q-*.json", func(s *ops.Folder) []error {
			_, _, begin := s.Begin(ctx, ops.Request{ID: "q", Environment: "e"})
			return []error{begin}
		}},
		"nonce": {"nonces/n-*.json", func(s *ops.Folder) []error {
			_, _, accept := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "sound"})
			return []error{accept}
		}},
	} {
		for _, how := range []string{"empty", "half", "one bit", "garbage"} {
			t.Run(fmt.Sprint(name, " ", how), func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir, ops.Options{})
				swap(t, s, begin(t, s, "r", "e"), "cancelled")
				swap(t, s, begin(t, s, "s", "e"), "cancelled")
				begin(t, s, "sound", "e")
				_, _, err := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "sound"})
				noError(t, err)
				request, err := os.ReadFile(one(t, dir, "requests/r-*.json"))
				noError(t, err)
				sum := strings.TrimSuffix(filepath.Base(nameFor(t, "q")), ".op.json")
				noError(t, os.WriteFile(filepath.Join(dir, "requests", sum+".json"), request, 0o600))
				file := one(t, dir, c.file)
				spoil(t, file, spoils[how])
				before := files(t, dir)
				for n, err := range c.about(s) {
					if err == nil {
						t.Errorf("try %d succeeded", n)
						continue
					}
					told(t, err, ops.ErrDamaged, file)
				}
				if !maps.Equal(before, files(t, dir)) {
					t.Error("what was refused has changed something")
				}
				op := get(t, s, "sound")
				swap(t, s, op, "cancelled")
				begin(t, s, "t", "e")
				if _, _, err := s.Accept(ctx, ops.Receipt{Nonce: "other", Operation: "t"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// nameFor returns the file that an environment of that name would have.
func nameFor(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	begin(t, open(t, dir, ops.Options{}), "x", name)
	return one(t, dir, name+"-*.op.json")
}

// A request file that was lost, alone, does no harm where the operation can be found.
func TestRequestLost(t *testing.T) {
	for _, how := range []string{"missing", "half"} {
		dir := t.TempDir()
		s := open(t, dir, ops.Options{})
		begin(t, s, "r", "e")
		spoil(t, one(t, dir, "requests/r-*.json"), spoils[how])
		if _, begun, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"}); err != nil || begun {
			t.Errorf("%s, unfinished: begun %v, %v", how, begun, err)
		}
	}
	for _, how := range []string{"missing", "half"} {
		dir := t.TempDir()
		s := open(t, dir, ops.Options{})
		swap(t, s, begin(t, s, "r", "e"), "cancelled")
		_, err := s.ArchiveFinished(ctx)
		noError(t, err)
		spoil(t, one(t, dir, "requests/r-*.json"), spoils[how])
		if op := get(t, s, "r"); !op.Archived {
			t.Errorf("%s: %+v", how, op)
		}
		if _, begun, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"}); err != nil || begun {
			t.Errorf("%s, archived: begun %v, %v", how, begun, err)
		}
	}
}

// A store whose folder is missing says so: it is not one without operations.
func TestNoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	s := open(t, dir, ops.Options{})
	_, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"})
	told(t, err, os.ErrNotExist, dir)
	_, err = s.Get("r")
	told(t, err, os.ErrNotExist, dir)
	n := 0
	for _, err := range s.Recoverable() {
		told(t, err, os.ErrNotExist, dir)
		n++
	}
	if n != 1 {
		t.Errorf("Recoverable yields %d times", n)
	}
	noError(t, os.Mkdir(dir, 0o700))
	begin(t, s, "r", "e")
}
