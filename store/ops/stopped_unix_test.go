//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ops_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

// A writer that is stopped is alive, however long it is stopped: nobody takes its lock. When a
// person breaks it, and another writer goes on, the stopped one wakes up and is refused at every
// step of its change that is left; nothing of what the other one wrote is lost.
func TestStoppedWriterIsOvertaken(t *testing.T) {
	for _, verb := range []string{"swap r applied", "own r d", "accept r n", "follow r failed s",
		"begin z empty"} {
		steps := 0
		for n := 1; ; n++ {
			dir := t.TempDir()
			store := open(t, dir, ops.Options{})
			swap(t, store, begin(t, store, "r", "e"), "applying")
			child := start(t, dir)
			if said := child.Ask("begin first first"); said != "ok" {
				t.Fatal(said)
			}
			child.Send(fmt.Sprint("stop ", n))
			step := child.Ask(verb)
			if step == "at commit" {
				child.Kill() // inside the gate a stopped writer delays a person, too
				break
			}
			steps++
			child.Stop()

			short, impatient := givesUp(t, dir)
			_, _, err := impatient.Begin(short, ops.Request{ID: "x", Environment: "x"})
			busy, ok := errors.AsType[*lockfile.BusyError](err)
			if !ok || busy.Verdict != identity.Alive || !errors.Is(err, lockfile.ErrBusy) {
				t.Fatalf("%s, %s: beside a stopped writer: %v", verb, step, err)
			}
			if op := get(t, store, "r"); op.Restored != "" {
				t.Errorf("looking beside a stopped writer: %+v", op)
			}
			_, err = lockfile.Break(ctx, store.LockState(),
				lockfile.BreakRequest{LockID: busy.LockID,
					Reason: "test", EvenIfAlive: true}, lockfile.Options{})
			noError(t, err)
			begin(t, store, "mine", "mine")
			_, err = store.CompareAndSwap(ctx, "r", 2, ops.Change{Data: "mine"})
			noError(t, err)
			before := files(t, dir)

			child.Cont()
			child.Send("go")
			if said := child.Line(); said != "fenced" {
				t.Errorf("%s, stopped %s: %s", verb, step, said)
			}
			if after := files(t, dir); !maps.Equal(inPlace(before), inPlace(after)) {
				t.Errorf("%s, stopped %s: it has changed something", verb, step)
			}
			if said := child.Ask(verb); said != "ok" && said != "again" {
				t.Errorf("%s, stopped %s, tried again: %s", verb, step, said)
			}
			child.Close()
		}
		if steps < 4 {
			t.Errorf("%s was stopped %d times", verb, steps)
		}
	}
}

// inPlace leaves out what is not in place.
func inPlace(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "/tmp/") })
	return files
}

// A FIFO or a link in the store is named, and nobody waits for it or follows it.
func TestFIFOAndLink(t *testing.T) {
	for _, kind := range []string{"FIFO", "link"} {
		dir := t.TempDir()
		s := open(t, dir, ops.Options{})
		begin(t, s, "sound", "sound")
		swap(t, s, begin(t, s, "r", "e"), "applying")
		file := one(t, dir, "e-*.op.json")
		if kind == "FIFO" {
			noError(t, os.Remove(file))
			noError(t, syscall.Mkfifo(file, 0o600))
		} else {
			noError(t, os.Rename(file, filepath.Join(dir, "tmp", "aside")))
			noError(t, os.Symlink(filepath.Join("tmp", "aside"), file))
		}
		_, err := s.Get("r")
		told(t, err, ops.ErrForeign, file)
		_, _, err = s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
		told(t, err, ops.ErrForeign, file)
		swap(t, s, get(t, s, "sound"), "applying")
	}
}

func init() { probetest.Register("read-only folder", readOnlyFolder) }

// A folder that may only be read can be read, and a change says where it failed.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 { // root writes into every folder
		noError(t, os.Chmod(filepath.Dir(dir), 0o711))
		noError(t, os.Chown(dir, nobody, nobody))
	}
	child := probetest.Start(t, "read-only folder", dir)
	if code := child.Wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

const nobody = 65534

func readOnlyFolder(p *probetest.Peer) {
	dir := p.Arg(0)
	if os.Geteuid() == 0 {
		p.Check(syscall.Setgroups(nil))
		p.Check(syscall.Setgid(nobody))
		p.Check(syscall.Setuid(nobody))
	}
	s, err := ops.Open(dir, opstest.Phases(), ops.Options{})
	p.Check(err)
	op, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"})
	p.Check(err)
	p.Check(os.Chmod(dir, 0o500))
	readOnly(p, s, op, os.ErrPermission)
	p.Check(os.Chmod(dir, 0o700))
}
