package lockfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// faults is the real file system with some operations failing, or something else done before them.
type faults struct {
	mu   sync.Mutex
	fail func(op faultfs.Op) faultfs.Action
	done []string // the operations, as "verb name to"
}

func (f *faults) files() vfs.FS {
	return faultfs.Wrap(vfs.OS(), func(op faultfs.Op) faultfs.Action {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.done = append(f.done, op.String())
		if f.fail == nil {
			return faultfs.Action{}
		}
		return f.fail(op)
	})
}

func (f *faults) set(fail func(op faultfs.Op) faultfs.Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// failing makes operations fail: "verb" or "verb name", each with an errno.
func failing(what map[string]syscall.Errno) func(faultfs.Op) faultfs.Action {
	return func(op faultfs.Op) faultfs.Action {
		for _, key := range []string{op.Verb, op.Verb + " " + op.Name} {
			if errno, is := what[key]; is {
				return faultfs.Action{Err: errno}
			}
		}
		return faultfs.Action{}
	}
}

// ops returns what was done so far. A tenure that rests goes on with that beside the test.
func (f *faults) ops() operations {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}

// operations are some of them, in their order. One is known by how it begins and ends, with a "…"
// between the two, or by the whole of it.
type operations []string

// index returns where the first of that kind is, -1 if there is none.
func (o operations) index(what string) int {
	begin, end, cut := strings.Cut(what, "…")
	return slices.IndexFunc(o, func(op string) bool {
		if !cut {
			return op == what
		}
		return strings.HasPrefix(op, begin) && strings.HasSuffix(op, end)
	})
}

// after returns those that come after the first of a kind, which must be there.
func (o operations) after(t *testing.T, what string) operations {
	t.Helper()
	at := o.index(what)
	if at < 0 {
		t.Fatalf("no %q: %q", what, o)
	}
	return o[at+1:]
}

// in demands that one operation was done before another.
func (o operations) in(t *testing.T, first, then string) {
	t.Helper()
	if a, b := o.index(first), o.index(then); a < 0 || b < 0 || a > b {
		t.Errorf("not %q before %q: %q", first, then, o)
	}
}

// A temporary that cannot be looked at may be one that somebody writes: it is not swept.
func TestUnreadableTemporaryStays(t *testing.T) {
	for _, verb := range []string{"open", "test-lock"} {
		t.Run(verb, func(t *testing.T) {
			state := newState(t)
			temp := state + ".lock.0123456789abcdef.tmp"
			abandon(t, state)
			noError(t, os.WriteFile(temp, []byte("x"), 0o600))
			f := &faults{fail: failing(map[string]syscall.Errno{
				verb + " " + filepath.Base(temp): syscall.EIO})}
			lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
			noError(t, lock.Release())
			if _, err := os.Stat(temp); err != nil {
				t.Errorf("it was swept: %v", err)
			}
			abandon(t, state)
			noError(t, tryAcquire(t, state, lockfile.Options{}).Release())
			noLeftovers(t, state)
		})
	}
}

// A command under a lock that cannot read the record once does not know that it is lost: it changes
// nothing then, and goes on when the record can be read.
func TestInheritedCannotReadTheRecord(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	noError(t, lock.WriteFile(state, []byte("old"), 0o600))
	var f faults
	under, err := lockfile.Inherit(state, lock.Environ(),
		lockfile.WithFiles(lockfile.Options{}, f.files()))
	noError(t, err)
	noError(t, under.Check())
	f.set(failing(map[string]syscall.Errno{"open state.lock": syscall.EIO}))
	for what, err := range map[string]error{
		"check": under.Check(), "write": under.WriteFile(state, []byte("new"), 0o600),
	} {
		if !errors.Is(err, syscall.EIO) || errors.Is(err, lockfile.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text := content(t, state); text != "old" {
		t.Errorf("the state is %q", text)
	}
	f.set(nil)
	noError(t, under.WriteFile(state, []byte("new"), 0o600))
	noError(t, under.Close())
	noError(t, lock.Release())
}

// A temporary that a sweep took before it was locked is written again: with the same content, mode
// and owner, and flushed.
func TestSweptTemporaryIsWrittenAgain(t *testing.T) {
	state := newState(t)
	noError(t, os.WriteFile(state, []byte("old"), 0o600))
	noError(t, os.Chmod(state, 0o640))
	uid := os.Getuid()
	if uid == 0 {
		uid = 4711
		noError(t, os.Chown(state, uid, uid))
	}
	f := &faults{}
	swept := ""
	f.set(func(op faultfs.Op) faultfs.Action {
		if op.Verb != "rename" || op.To != "state" || swept != "" {
			return faultfs.Action{}
		}
		swept = op.Name
		return faultfs.Action{Do: func() { noError(t, os.Remove(filepath.Join(op.Dir, op.Name))) }}
	})
	lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	noError(t, lock.WriteFile(state, []byte("new"), 0o600))
	noError(t, lock.Release())
	if text := content(t, state); text != "new" || swept == "" {
		t.Errorf("the state is %q, swept %q", text, swept)
	}
	var st unix.Stat_t
	noError(t, unix.Stat(state, &st))
	if st.Mode&0o777 != 0o640 || int(st.Uid) != uid {
		t.Errorf("mode %#o, owner %d", st.Mode&0o777, st.Uid)
	}
	f.ops().after(t, "rename "+swept+" state").
		in(t, "flush state.lock.….tmp", "rename state.lock.… state")
	noLeftovers(t, state)
}

// Where names cannot be exchanged and files have one name only, what is kept is a copy. It is on
// the disk before the file that it was made of is replaced.
func TestKeptCopyIsFlushed(t *testing.T) {
	state := newState(t)
	noError(t, os.WriteFile(state, []byte("old"), 0o600))
	f := &faults{}
	lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	f.set(failing(map[string]syscall.Errno{"exchange": syscall.EINVAL, "link": syscall.EPERM}))
	noError(t, lock.WriteFileKeeping(state, "kept", []byte("new"), 0o600))
	if now, kept := content(t, state), content(t, filepath.Join(filepath.Dir(state), "kept")); now !=
		"new" || kept != "old" {
		t.Errorf("the state is %q, kept is %q", now, kept)
	}
	ops := f.ops().after(t, "link state …")
	ops.in(t, "flush state.lock.….tmp", "rename state.lock.… kept")
	ops.in(t, "rename state.lock.… kept", "rename state.lock.… state")
	noError(t, lock.Release())
}

// A lock that cannot even be looked at stands in a listing, as an error.
func TestListCannotLook(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	f := &faults{fail: failing(map[string]syscall.Errno{"look-at state.lock": syscall.EIO})}
	n := 0
	for in, err := range lockfile.List(filepath.Dir(state),
		lockfile.WithFiles(lockfile.Options{}, f.files())) {
		n++
		if !errors.Is(err, syscall.EIO) || in.State != state {
			t.Errorf("%s: %v", in.State, err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers", n)
	}
	noError(t, lock.Release())
}

// Where the kernel lock of a record cannot be had nobody gets the lock, although its fence is
// there: no commit could be made under it.
func TestNoKernelLockOnTheRecord(t *testing.T) {
	state := newState(t)
	noError(t, tryAcquire(t, state, lockfile.Options{}).Release())
	f := &faults{fail: failing(map[string]syscall.Errno{"lock": syscall.ENOLCK})}
	lock, err := lockfile.TryAcquire(state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	wantError(t, err, lockfile.ErrNoKernelLock)
	if lock != nil {
		t.Error("a lock, and an error")
	}
	noLeftovers(t, state)
}

// Where other machines may see a record, it is whole on the disk before it has its name.
func TestSharedRecordIsFlushedFirst(t *testing.T) {
	for local, want := range map[bool]bool{true: false, false: true} {
		sys := probetest.New()
		sys.FS.Local = local
		state := newState(t)
		noError(t, tryAcquire(t, state, lockfile.Options{}).Release()) // there is a fence now
		f := &faults{fail: failing(map[string]syscall.Errno{"create-unnamed": syscall.EINVAL})}
		lock := tryAcquire(t, state,
			lockfile.WithFiles(lockfile.Options{System: sys}, f.files()))
		ops := f.ops()
		named := ops.index("rename-noreplace … state.lock")
		flushed := named >= 0 && ops[:named].index("flush state.lock.…") >= 0
		if named < 0 || flushed != want {
			t.Errorf("local %v: flushed first %v: %q", local, flushed, ops)
		}
		noError(t, lock.Release())
	}
}

// Where a record can only be created at its place, what it says of its file and its kernel lock is
// true of the file at that place.
func TestRecordMadeInPlace(t *testing.T) {
	state := newState(t)
	f := &faults{fail: failing(map[string]syscall.Errno{"create-unnamed": syscall.EINVAL,
		"rename-noreplace": syscall.EINVAL, "link": syscall.EPERM})}
	lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	var record struct {
		Proof struct {
			File       struct{ Inode uint64 }
			KernelLock string
		}
	}
	noError(t, json.Unmarshal([]byte(content(t, state+".lock")), &record))
	if inode := inodeAt(t, state+".lock"); record.Proof.File.Inode != inode {
		t.Errorf("the record names inode %d and lies in %d", record.Proof.File.Inode, inode)
	}
	if !kernelLocked(t, state+".lock") || record.Proof.KernelLock != string(vfs.NativeLock()) {
		t.Errorf("the kernel lock %q of the record is not held", record.Proof.KernelLock)
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// The kernel lock of a lost record is given up by its release, although a command still has the
// descriptor: put back by whoever took it away, it must not read as held for ever.
func TestLostRecordIsUnlocked(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	inherited, err := unix.FcntlInt(lock.Handle(), unix.F_DUPFD_CLOEXEC, 3)
	noError(t, err)
	defer unix.Close(inherited)
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(state+".lock", aside); err != nil {
		aside = state + ".lock.aside"
		noError(t, os.Rename(state+".lock", aside))
	}
	if !kernelLocked(t, aside) {
		t.Fatal("the owner does not hold its kernel lock")
	}
	wantError(t, lock.Release(), lockfile.ErrLost)
	if kernelLocked(t, aside) {
		t.Error("the kernel lock is held after the release")
	}
}

func inodeAt(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	noError(t, unix.Lstat(path, &st))
	return st.Ino
}

// kernelLocked reports whether somebody holds the native kernel lock of a file.
func kernelLocked(t *testing.T, path string) bool {
	t.Helper()
	dir, err := vfs.OS().OpenDir(filepath.Dir(path))
	noError(t, err)
	defer dir.Close()
	file, err := dir.Open(filepath.Base(path), vfs.Read)
	noError(t, err)
	defer file.Close()
	held, err := file.Locked(vfs.NativeLock())
	noError(t, err)
	return held
}
