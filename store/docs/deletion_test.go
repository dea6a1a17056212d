package docs_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
)

func init() {
	// deleter deletes the document a of version 1 in a folder. When how far it had come is written,
	// and the document is still there, it says "between" and waits for a line.
	probetest.Register("deleter", func(p *probetest.Peer) {
		written, told := false, false
		vfs.Interpose(func(under vfs.FS) vfs.FS {
			return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
				if told || !written || op.Verb != "flush-dir" {
					written = written || op.Verb == "rename" && op.To == "a.doc.deleted"
					return faultfs.Action{}
				}
				told = true
				return faultfs.Action{Do: func() {
					p.Send("between")
					p.Line()
				}}
			})
		})
		f, err := docs.OpenFolder(p.Arg(0), docs.FolderOptions{})
		p.Check(err)
		switch err := f.Delete(always, "a", 1); {
		case errors.Is(err, docs.ErrFenced):
			p.Send("fenced")
		case err != nil:
			p.Send(strconv.Quote(err.Error()))
		default:
			p.Send("ok")
		}
	})
}

// A deletion that is killed anywhere is done or not, and the versions go on: one that somebody has
// seen is not given to another content.
func TestFolderKilledDeletions(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("steps can be counted on Linux only, amd64 and arm64")
	}
	every := 1
	if testing.Short() {
		every = 2
	}
	there, gone := 0, 0
	for step := 1; ; step += every {
		f := newFolder(t)
		_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
		noError(t, err)
		answer := swap{Dir: f.Dir(), Key: "a", Expected: 1, Delete: true, KillAt: step}.in(t)
		switch d, err := f.Load(always, "a"); {
		case err == nil:
			there++
			if d.Version != 1 || string(d.Value) != "1" || answer != "" {
				t.Errorf("step %d: %v: %s, said %q", step, d.Version, d.Value, answer)
			}
			v, err := f.CompareAndSwap(always, "a", 1, []byte("2"))
			if err != nil || v != 2 {
				t.Errorf("step %d: changed to %v, %v", step, v, err)
			}
		case errors.Is(err, docs.ErrMissing):
			gone++
			v, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("2"))
			if err != nil || v != 3 {
				t.Errorf("step %d: created again as %v, %v", step, v, err)
			}
		default:
			t.Errorf("step %d: %v", step, err)
		}
		if answer != "" {
			if answer != "ok" {
				t.Errorf("step %d: %s", step, answer)
			}
			break
		}
	}
	if there < 5 || gone < 2 {
		t.Errorf("killed before %d times and after %d times", there, gone)
	}
}

// Whoever is overtaken in the middle of a deletion does not remove what belongs to the next one.
func TestFolderOvertakenDeletion(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	child := probetest.Start(t, "deleter", f.Dir())
	child.Expect("between")
	in, err := lockfile.Inspect(f.Path("a"), lockfile.Options{})
	noError(t, err)
	_, err = lockfile.Break(always, f.Path("a"), lockfile.BreakRequest{LockID: in.LockID,
		Reason: "test", EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
	v, err := f.CompareAndSwap(always, "a", 1, json.RawMessage("2"))
	noError(t, err)
	child.Send("go")
	child.Expect("fenced")
	if d, err := f.Load(always, "a"); err != nil || d.Version != v || string(d.Value) != "2" {
		t.Errorf("%v: %s, %v", d.Version, d.Value, err)
	}
}
