package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

var realReader = lookHere(lockfile.Options{})

func TestVerdictKilled(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	in := wantAlive(t, realReader, state, identity.KernelLockHeld)
	wantSays(t, in, "process "+strconv.Itoa(holder.PID()), "is running")
	holder.Kill()
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// startKeeper starts a holder of the lock with a child that inherited the descriptor of the record,
// and returns the holder and how to end that child.
func startKeeper(t *testing.T, state string) (holder *probetest.Child, end func()) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	holder = startHolder(t, state, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{read} })
	keeper, err := strconv.Atoi(holder.Ask("keep"))
	if err != nil {
		t.Fatal(err)
	}
	pidfd, err := unix.PidfdOpen(keeper, 0)
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		ended := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		for err := error(unix.EINTR); err == unix.EINTR; {
			_, err = unix.Poll(ended, -1)
		}
		unix.Close(pidfd)
		write.Close()
	})
	t.Cleanup(end)
	return holder, end
}

// A command that inherited the descriptor of the record goes on working when the wrapper is killed.
func TestVerdictInheritedByChild(t *testing.T) {
	state := openState(t)
	holder, end := startKeeper(t, state)
	holder.Kill()
	in := wantAlive(t, realReader, state, identity.KernelLockHeld)
	wantSays(t, in, "process "+strconv.Itoa(holder.PID()),
		"is gone, but something that it started still holds")
	end()
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// A child that inherited the descriptor holds nothing up when the holder ends cleanly.
func TestVerdictInheritedThenReleased(t *testing.T) {
	state := openState(t)
	holder, _ := startKeeper(t, state)
	if got := holder.Ask("release"); got != "ok" {
		t.Fatal(got)
	}
	wantFree(t, realReader, state)
	if a := realReader("try", state); !a.Got {
		t.Fatal(a.Err)
	}
}

func TestVerdictZombie(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	holder.KillNoReap()
	wantTaken(t, realReader, state, identity.ProcessExited)
}

// A stopped owner can be continued, and would write. Neither its state nor any age makes it gone.
func TestVerdictStopped(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	holder.Stop()
	in := wantAlive(t, realReader, state, identity.KernelLockHeld)
	if !strings.Contains(in.Sentence, "stopped") {
		t.Errorf("sentence %q does not say that the owner is stopped", in.Sentence)
	}
	backdate(t, state)
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	holder.Cont()
	if got := holder.Ask("release"); got != "ok" {
		t.Fatal(got)
	}
	wantFree(t, realReader, state)
}

// What a record says about time is for people: a record that looks years old changes no verdict.
func TestVerdictOldRecord(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	editRecord(t, state, func(f recordFields) {
		f["createdAt"] = "2001-01-01T00:00:00.000Z"
		f["processStart"] = int64(978307200000)
		f["expectedUntil"] = "2001-01-02T00:00:00.000Z"
	})
	backdate(t, state)
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	holder.Kill()
	wantGone(t, realReader, state, identity.NoSuchProcess)
}

// Without the kernel lock the process decides: a program that gave it up by accident is alive.
func TestVerdictUnlockedButRunning(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	wantAlive(t, realReader, state, identity.ProcessRunning)
	holder.Stop()
	in := wantAlive(t, realReader, state, identity.ProcessRunning)
	wantSays(t, in, "is stopped")
	editRecord(t, state, withoutKernelLock)
	wantAlive(t, realReader, state, identity.ProcessRunning)
	holder.Kill()
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// A copy of a record is another file and inherits no kernel lock: the process decides.
func TestVerdictCopy(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	copyRecord(t, state)
	in := wantAlive(t, realReader, state, identity.ProcessRunning)
	wantSays(t, in, "another file")
	holder.KillNoReap()
	wantGone(t, realReader, state, identity.ProcessExited)
}

// The first thread of a process may end before the others: /proc calls it a zombie, and it lives.
func TestVerdictDeadLeader(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	if got := holder.Ask("behead"); got != "ok" {
		t.Fatal(got)
	}
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	wantAlive(t, realReader, state, identity.ProcessRunning)
	editRecord(t, state, func(f recordFields) {
		delete(f.proof(), "pidfd")
		withoutKernelLock(f)
	})
	wantAlive(t, realReader, state, identity.ProcessRunning)
	holder.KillNoReap()
	wantTaken(t, realReader, state, identity.ProcessExited)
}

// Recovery can be switched off for a whole process: the verdict stays, and nothing is taken.
func TestVerdictRecoveryOff(t *testing.T) {
	state := openState(t)
	startHolder(t, state, nil).Kill()
	off := lookThere(t, startWitness(t, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PROBATE_RECOVERY=off")
	}), "")
	before := folderFacts(t, filepath.Dir(state))
	for _, verb := range []string{"try", "recover"} {
		a := off(verb, state)
		if !a.Busy || a.Got || !strings.Contains(a.Err, "PROBATE_RECOVERY=off") {
			t.Errorf("%s: %+v", verb, a)
		}
		wantVerdict(t, a, identity.Gone, identity.NoSuchProcess)
	}
	never := lookHere(lockfile.Options{Recovery: lockfile.RecoverNever})
	if a := never("try", state); !a.Busy || !strings.Contains(a.Err, "Options.Recovery") {
		t.Errorf("with RecoverNever: %+v", a)
	}
	wantFolder(t, filepath.Dir(state), before)
	wantTaken(t, never, state, identity.NoSuchProcess) // Recover is asked for by name
}

// Another number than the recorded one is only asked about, whatever it belongs to.
func TestVerdictThreadNumber(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	holder.Kill()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	thread := ""
	for _, task := range tasks {
		if task.Name() != strconv.Itoa(os.Getpid()) {
			thread = task.Name()
		}
	}
	editRecord(t, state, func(f recordFields) {
		f["pid"], _ = strconv.Atoi(thread)
		withoutKernelLock(f)
	})
	in := wantGone(t, realReader, state, identity.NoSuchProcess)
	wantSays(t, in, "only a thread")
}

// untrusted files: whoever may write a record could make it say anything.
func TestVerdictUntrusted(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	lock := state + ".lock"
	chmod := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(lock, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o666)
	wantAlive(t, realReader, state, identity.KernelLockHeld) // only owners take that lock
	holder.Kill()
	wantUnknown(t, realReader, state, identity.RecordUntrusted)
	chmod(0o602)
	wantUnknown(t, realReader, state, identity.RecordUntrusted)
	chmod(0o620)
	in := wantUnknown(t, realReader, state, identity.RecordUntrusted)
	wantSays(t, in, "-rw--w----")
	wantGone(t, lookHere(lockfile.Options{Mode: 0o660}), state, identity.NoSuchProcess)
	// Who may write the fence takes part anyway; nobody else.
	for mode, trusted := range map[os.FileMode]bool{0o660: true, 0o606: false} {
		if err := os.Chmod(state+".fence", mode); err != nil {
			t.Fatal(err)
		}
		if trusted {
			wantGone(t, realReader, state, identity.NoSuchProcess)
		} else {
			wantUnknown(t, realReader, state, identity.RecordUntrusted)
		}
	}
	if err := os.Chmod(state+".fence", 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(0o644)
	wantGone(t, realReader, state, identity.NoSuchProcess)

	if os.Geteuid() != 0 {
		t.Log("only root can give files away: the owner is not tested")
		return
	}
	chown := func(path string, uid int) {
		t.Helper()
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	chown(lock, otherUser)
	in = wantUnknown(t, realReader, state, identity.RecordUntrusted)
	wantSays(t, in, "user "+strconv.Itoa(otherUser))
	// The owner of the state, or of the directory, may have records there.
	putFile(t, state, []byte("{}"))
	chown(state, otherUser)
	wantGone(t, realReader, state, identity.NoSuchProcess)
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, realReader, state, identity.RecordUntrusted)
	chown(filepath.Dir(state), otherUser)
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}
