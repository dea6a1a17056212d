package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// openSharing opens a file for reading, as a program does that shares only that.
func openSharing(t *testing.T, path string, share uint32) (closeIt func()) {
	t.Helper()
	p, err := windows.UTF16PtrFromString(path)
	noError(t, err)
	h, err := windows.CreateFile(p, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING,
		windows.FILE_ATTRIBUTE_NORMAL, 0)
	noError(t, err)
	return func() { windows.CloseHandle(h) }
}

const shareReadWrite = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE

// A scanner that does not share removal makes a dead owner look alive, and nothing worse: it is
// waited for, and then the lock is taken over.
func TestScannerOnADeadRecord(t *testing.T) {
	state := newState(t)
	id, _ := abandon(t, state)
	done := openSharing(t, state+".lock", shareReadWrite)
	in := inspect(t, state)
	if in.Verdict != identity.Alive || in.Reason != identity.KernelLockHeld || in.LockID != id {
		t.Errorf("%v", in.Finding)
	}
	_, err := lockfile.TryAcquire(state, lockfile.Options{})
	wantError(t, err, lockfile.ErrBusy)
	_, err = lockfile.Recover(always, state, lockfile.Options{})
	wantError(t, err, lockfile.ErrBusy)
	if counterOf(t, state) != 0 {
		t.Errorf("the fence is %d", counterOf(t, state))
	}
	waits := make(chan bool, 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() { <-waits; done() }()
	lock, err := lockfile.Acquire(ctx, state, lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { waits <- true }})
	noError(t, err)
	if lock.Recovered() == nil || lock.Token() != 1 {
		t.Errorf("token %d, recovered %v", lock.Token(), lock.Recovered())
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A record that somebody has open for himself cannot be read, and so nobody is judged by it.
func TestRecordOpenedForOneself(t *testing.T) {
	state := newState(t)
	id, _ := abandon(t, state)
	done := openSharing(t, state+".lock", 0)
	in := inspect(t, state)
	if in.Verdict != identity.Unknown || in.Reason != identity.RecordChanging {
		t.Errorf("%v", in.Finding)
	}
	_, err := lockfile.TryAcquire(state, lockfile.Options{})
	wantError(t, err, lockfile.ErrBusy)
	done()
	if in := inspect(t, state); in.Verdict != identity.Gone || in.LockID != id {
		t.Errorf("%v", in.Finding)
	}
}

// A torn record is abandoned when nobody has it open, whatever he shares, and only then.
func TestTornRecordOnWindows(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "cut short": `{"v":2,"lease":"01`,
		"NUL": strings.Repeat("\x00", 300)} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			noError(t, os.WriteFile(state+".lock", []byte(text), 0o600))
			writer, err := openShared(state+".lock", windows.GENERIC_WRITE)
			noError(t, err)
			if in := inspect(t, state); in.Verdict != identity.Unknown {
				t.Errorf("while somebody has it open: %v", in.Finding)
			}
			_, err = lockfile.TryAcquire(state, lockfile.Options{})
			wantError(t, err, lockfile.ErrBusy)
			noError(t, writer.Close())
			in := inspect(t, state)
			if in.Verdict != identity.Gone || in.Reason != identity.RecordOrphaned {
				t.Fatalf("%v", in.Finding)
			}
			lock := tryAcquire(t, state, lockfile.Options{})
			if lock.Recovered() == nil || lock.Token() != 1 {
				t.Errorf("token %d, recovered %v", lock.Token(), lock.Recovered())
			}
			noError(t, lock.Release())
			noLeftovers(t, state)
		})
	}
}

// A dead record that somebody made read-only is taken out all the same.
func TestReadOnlyRecord(t *testing.T) {
	state := newState(t)
	abandon(t, state)
	noError(t, os.Chmod(state+".lock", 0o400))
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.Recovered() == nil {
		t.Error("not taken over")
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A fence that somebody has open for himself is a failure that names it, after a bounded time, and
// no lock is had.
func TestFenceOpenedForOneself(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	done := openSharing(t, state+".fence", 0)
	defer done()
	err := lock.WriteFile(state, []byte("text"), 0o600)
	if err == nil || errors.Is(err, lockfile.ErrLost) {
		t.Fatalf("written: %v", err)
	}
	wantText(t, err.Error(), state+".fence", "another program has it open", "next: ")
	done()
	noError(t, lock.Check()) // nothing was lost
	noError(t, lock.WriteFile(state, []byte("text"), 0o600))
	noError(t, lock.Release())
}

// Long paths are paths like others.
func TestLongState(t *testing.T) {
	dir := filepath.Join(filepath.Dir(newState(t)), strings.Repeat("d", 120),
		strings.Repeat("e", 120), strings.Repeat("f", 120))
	noError(t, os.MkdirAll(dir, 0o700))
	state := filepath.Join(dir, strings.Repeat("s", 200))
	if !probetest.OnWine() { // where the device of a file with a long path cannot be found out
		abandon(t, state)
	}
	lock := tryAcquire(t, state, lockfile.Options{})
	if (lock.Recovered() == nil) != probetest.OnWine() || lock.State() != state {
		t.Errorf("%s, recovered %v", lock.State(), lock.Recovered())
	}
	noError(t, lock.WriteFile(state, []byte("text"), 0o600))
	noError(t, breakAnyway(state, lock.ID()))
	wantError(t, lock.Release(), lockfile.ErrFenced)
	if text := content(t, state); text != "text" {
		t.Errorf("%q", text)
	}
	noLeftovers(t, state)
}

// A state that the system takes for something else is refused, and nothing is made.
func TestStrangeStates(t *testing.T) {
	dir := filepath.Dir(newState(t))
	for _, name := range []string{"NUL", "con", "COM1", "state:stream", "state::$DATA", "state.",
		"state ", "state. ."} {
		_, err := lockfile.TryAcquire(dir+`\`+name, lockfile.Options{})
		if err == nil {
			t.Fatalf("%q is locked", name)
		}
		wantText(t, err.Error(), "another one, a stream or a device")
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// Who breaks the lock of a process that hangs is told which process to end. What it commits is
// refused from that moment on, and when it wakes up it gives the record up.
func TestBreakOfAnOwnerThatHangs(t *testing.T) {
	state := newState(t)
	owner := startActor(t, state)
	id, _, _ := tenureOf(t, owner.Ask("acquire"))
	resume := suspend(t, owner.PID())
	req := lockfile.BreakRequest{LockID: id, Reason: "test", EvenIfAlive: true}
	_, err := lockfile.Break(always, state, req, lockfile.Options{GateWait: 500 * time.Millisecond})
	wantError(t, err, lockfile.ErrBusy)
	wantText(t, err.Error(), "refused from now on", "next: end process "+fmt.Sprint(owner.PID()))
	if counterOf(t, state) != 1 {
		t.Errorf("the fence is %d", counterOf(t, state))
	}
	_, err = lockfile.Break(always, state, req, lockfile.Options{})
	wantError(t, err, lockfile.ErrChanged)
	wantText(t, err.Error(), "broken already")
	entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
	if err != nil || len(entries) != 1 || entries[0].Event != lockfile.EventBreak {
		t.Errorf("the log: %+v, %v", entries, err)
	}
	resume()
	expect(t, owner, "write late", "fenced")
	next := tryAcquire(t, state, lockfile.Options{})
	if next.Token() != 1 || next.Recovered() != nil {
		t.Errorf("token %d, recovered %v", next.Token(), next.Recovered())
	}
	expect(t, owner, "release", "fenced")
	noError(t, next.Release())
	noLeftovers(t, state)
}

// suspend stops all threads of a process, until resume is called.
func suspend(t *testing.T, pid int) (resume func()) {
	t.Helper()
	const suspendResume = 0x0800 // PROCESS_SUSPEND_RESUME
	h, err := windows.OpenProcess(suspendResume, false, uint32(pid))
	noError(t, err)
	ntdll := windows.NewLazySystemDLL("ntdll.dll")
	if status, _, _ := ntdll.NewProc("NtSuspendProcess").Call(uintptr(h)); status != 0 {
		t.Fatalf("NtSuspendProcess: %#x", status)
	}
	return func() {
		if status, _, _ := ntdll.NewProc("NtResumeProcess").Call(uintptr(h)); status != 0 {
			t.Errorf("NtResumeProcess: %#x", status)
		}
		windows.CloseHandle(h)
	}
}
