package lockfile_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// timed asks one question and demands an answer. A question that blocks would not even fail.
func timed(t *testing.T, r onlooker, verb, state string) lockAnswer {
	t.Helper()
	done := make(chan lockAnswer, 1)
	go func() { done <- r(verb, state) }()
	select {
	case a := <-done:
		return a
	case <-time.After(probetest.Patience):
		t.Fatalf("%s did not answer within %v", verb, probetest.Patience)
		return lockAnswer{}
	}
}

// inTime makes an onlooker that must answer, and remembers the slowest answer. Demanded are 100 ms
// of a quiet machine: the tests say what they saw.
func inTime(t *testing.T, r onlooker, slowest *time.Duration) onlooker {
	return func(verb, state string) lockAnswer {
		t.Helper()
		begin := time.Now()
		a := timed(t, r, verb, state)
		*slowest = max(*slowest, time.Since(begin))
		return a
	}
}

// plants put something at a path that is no file of ours. They return a file that must not change,
// "" for none.
var plants = map[string]func(t *testing.T, path string) (victim string){
	"link to a file": func(t *testing.T, path string) string {
		victim := filepath.Join(t.TempDir(), "victim")
		putFile(t, victim, []byte("precious\n"))
		must(t, os.Symlink(victim, path))
		return victim
	},
	"dangling link": func(t *testing.T, path string) string {
		must(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), path))
		return ""
	},
	"link to a device": func(t *testing.T, path string) string {
		must(t, os.Symlink("/dev/zero", path))
		return ""
	},
	"fifo": func(t *testing.T, path string) string {
		must(t, unix.Mkfifo(path, 0o600))
		return ""
	},
	"directory": func(t *testing.T, path string) string {
		must(t, os.Mkdir(path, 0o700))
		putFile(t, filepath.Join(path, "content"), []byte("precious\n"))
		return filepath.Join(path, "content")
	},
	"socket": func(t *testing.T, path string) string {
		// Bound in a short folder: the names of sockets are limited, and then moved.
		short, err := os.MkdirTemp("", "s")
		must(t, err)
		t.Cleanup(func() { os.RemoveAll(short) })
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s")})
		must(t, err)
		t.Cleanup(func() { l.Close() })
		must(t, os.Rename(filepath.Join(short, "s"), path))
		return ""
	},
	"device": func(t *testing.T, path string) string {
		skipUnlessRoot(t)
		must(t, unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5)))) // /dev/zero
		return ""
	},
	"five gigabytes": func(t *testing.T, path string) string {
		putFile(t, path, nil)
		must(t, os.Truncate(path, 5<<30))
		return ""
	},
	"a million characters": func(t *testing.T, path string) string {
		putFile(t, path, []byte(`{"v":2,"label":"`+strings.Repeat("a", 1<<20)+`"}`))
		return ""
	},
	"another owner": func(t *testing.T, path string) string {
		skipUnlessRoot(t)
		putFile(t, path, []byte(`{"v":2}`))
		must(t, os.Chown(path, otherUser, otherUser))
		return ""
	},
}

// factsOf is what must not change about a file, "" for none.
func factsOf(t *testing.T, path string) string {
	t.Helper()
	if path == "" {
		return ""
	}
	info, err := os.Lstat(path)
	must(t, err)
	content, err := os.ReadFile(path)
	must(t, err)
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino, info.Mode(), info.ModTime(),
		string(content))
}

// Whatever stands where the record should: a clear answer in time, and nothing is changed.
func TestHostileAtLock(t *testing.T) {
	reasons := map[string]identity.Reason{
		"five gigabytes": identity.RecordTooLarge, "a million characters": identity.RecordTooLarge,
		"another owner": identity.RecordUntrusted,
	}
	says := map[string]string{
		"link to a file": "a symbolic link", "dangling link": "a symbolic link",
		"link to a device": "a symbolic link", "fifo": "a named pipe", "directory": "a directory",
		"socket": "a socket", "device": "a device", "another owner": "user 4321",
	}
	slowest := time.Duration(0)
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			state := openState(t)
			victim := plant(t, state+".lock")
			before := factsOf(t, victim)
			reason := reasons[name]
			if reason == "" {
				reason = identity.RecordNotRegular
			}
			in := wantUnknown(t, inTime(t, realReader, &slowest), state, reason)
			wantSays(t, in, says[name])
			if !strings.Contains(in.Next, "ls -ld "+state+".lock") {
				t.Errorf("the next step %q does not look at what stands there", in.Next)
			}
			if after := factsOf(t, victim); after != before {
				t.Errorf("the victim changed from %q to %q", before, after)
			}
		})
	}
	t.Logf("slowest answer: %v", slowest)
}

// A person can break what is no record: it is kept, whole, and the lock works again.
func TestHostileAtLockBroken(t *testing.T) {
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			state := openState(t)
			victim := plant(t, state+".lock")
			info, err := os.Lstat(state + ".lock")
			must(t, err)
			in := askLock("inspect", state, lockfile.Options{}).Inspection
			broken, err := lockfile.Break(context.Background(), state,
				lockfile.BreakRequest{LockID: in.LockID, Reason: "planted"}, lockfile.Options{})
			must(t, err)
			if broken.Saved != state+".lock.broken-"+in.LockID {
				t.Fatalf("kept at %q", broken.Saved)
			}
			kept, err := os.Lstat(broken.Saved)
			must(t, err)
			if !os.SameFile(info, kept) || kept.Size() != info.Size() ||
				kept.Mode() != info.Mode() {
				t.Errorf("another file was kept: %v, was %v", kept, info)
			}
			if victim != "" && name != "directory" {
				if content, err := os.ReadFile(victim); string(content) != "precious\n" {
					t.Errorf("the victim has %q now (%v)", content, err)
				}
			}
			if a := realReader("try", state); !a.Got {
				t.Error(a.Err)
			}
		})
	}
}

// large are the plants that are regular files.
var large = map[string]bool{"five gigabytes": true, "a million characters": true}

// Something else in the place of fence, log or marker: an error that names it, or no harm, and
// nothing is left behind.
func TestHostileBeside(t *testing.T) {
	for name, plant := range plants {
		for _, beside := range []string{".fence", ".recovery.log"} {
			if beside == ".recovery.log" && large[name] || name == "another owner" {
				// A log may be large, see TestHostileLargeLog, and whose it is does not matter.
				continue
			}
			t.Run(name+" at "+beside, func(t *testing.T) {
				state := openState(t)
				startHolder(t, state, nil).Kill()
				must(t, os.RemoveAll(state+beside))
				victim := plant(t, state+beside)
				before, files := factsOf(t, victim), folderFacts(t, filepath.Dir(state))
				a := timed(t, realReader, "inspect", state)
				if a.Inspection.Verdict != identity.Gone {
					t.Fatalf("inspect: %+v", a)
				}
				if beside == ".fence" && a.Inspection.Fence.Err == "" {
					t.Errorf("inspect says nothing of the fence: %+v", a.Inspection.Fence)
				}
				for _, verb := range []string{"try", "recover"} {
					a := timed(t, realReader, verb, state)
					if a.Err == "" || !strings.Contains(a.Err, state+beside) {
						t.Errorf("%s: %+v; want an error that names %s", verb, a, state+beside)
					}
				}
				wantFolder(t, filepath.Dir(state), files)
				if after := factsOf(t, victim); after != before {
					t.Errorf("the victim changed from %q to %q", before, after)
				}
			})
		}
		t.Run(name+" at the marker", func(t *testing.T) {
			state := openState(t)
			startHolder(t, state, nil).Kill()
			content, err := os.ReadFile(state + ".lock")
			must(t, err)
			marker := state + ".recovered-" + parseRecord(t, content)["lease"].(string)[:24]
			victim := plant(t, marker)
			before := factsOf(t, victim)
			// Peers leave markers, so that one that is there stops nobody; it is only told.
			in := wantTaken(t, inTime(t, realReader, new(time.Duration)), state,
				identity.NoSuchProcess)
			if !strings.Contains(strings.Join(in.Notes, "\n"), marker) {
				t.Errorf("the notes %q do not name %s", in.Notes, marker)
			}
			if after := factsOf(t, victim); after != before {
				t.Errorf("the victim changed from %q to %q", before, after)
			}
		})
	}
}

// Of a large log only the end is read. It is kept as the old one.
func TestHostileLargeLog(t *testing.T) {
	for name := range large {
		t.Run(name, func(t *testing.T) {
			state := openState(t)
			startHolder(t, state, nil).Kill()
			plants[name](t, state+".recovery.log")
			before, err := os.Stat(state + ".recovery.log")
			must(t, err)
			if a := timed(t, realReader, "recover", state); a.Err != "" || a.Recovered == nil {
				t.Fatalf("%+v", a)
			}
			after, err := os.Stat(state + ".recovery.log.1")
			must(t, err)
			if !os.SameFile(before, after) || after.Size() != before.Size() {
				t.Errorf("the old log is %v, was %v", after, before)
			}
			log, _, err := lockfile.ReadLog(state, lockfile.Options{})
			if err != nil || len(log) != 1 || log[0].Fence != 1 {
				t.Errorf("the log has %+v, %v", log, err)
			}
		})
	}
}

// A free lock with something else at the fence: nothing is acquired, and nothing left.
func TestHostileFenceOfFreeLock(t *testing.T) {
	for name, plant := range plants {
		if name == "another owner" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			state := openState(t)
			victim := plant(t, state+".fence")
			before, files := factsOf(t, victim), folderFacts(t, filepath.Dir(state))
			a := timed(t, realReader, "try", state)
			if a.Got || !strings.Contains(a.Err, state+".fence") {
				t.Errorf("%+v; want an error that names the fence", a)
			}
			wantFolder(t, filepath.Dir(state), files)
			if after := factsOf(t, victim); after != before {
				t.Errorf("the victim changed from %q to %q", before, after)
			}
		})
	}
}
