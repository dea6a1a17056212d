//go:build unix

package lockfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

func modeOf(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	noError(t, err)
	return info.Mode()
}

func ownerOf(t testing.TB, path string) (uid, gid int) {
	t.Helper()
	info, err := os.Lstat(path)
	noError(t, err)
	s := info.Sys().(*syscall.Stat_t)
	return int(s.Uid), int(s.Gid)
}

// A new file gets exactly the mode that was asked for, whatever the umask; one that exists keeps
// its own. Fence and log follow the state, so that whoever may write it can use them too.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o077} {
		func() {
			defer syscall.Umask(syscall.Umask(umask))
			state := newState(t)
			lock := tryAcquire(t, state, lockfile.Options{})
			noError(t, lock.WriteFile(state, nil, 0o664))
			if mode := modeOf(t, state); mode != 0o664 {
				t.Errorf("umask %#o: a new state has mode %v", umask, mode)
			}
			noError(t, os.Chmod(state, 0o640))
			noError(t, lock.WriteFile(state, nil, 0o666))
			if mode := modeOf(t, state); mode != 0o640 {
				t.Errorf("umask %#o: the state has mode %v now", umask, mode)
			}
			if mode := modeOf(t, state+".fence"); mode != 0o600 {
				t.Errorf("umask %#o: a fence made before the state has mode %v", umask, mode)
			}
			if mode := modeOf(t, state+".lock"); mode != 0o600 {
				t.Errorf("umask %#o: the record has mode %v", umask, mode)
			}
			noError(t, lock.Release())
			noError(t, os.Remove(state+".fence"))
			abandon(t, state)
			lock = tryAcquire(t, state, lockfile.Options{Mode: 0o644})
			for suffix, want := range map[string]fs.FileMode{".fence": 0o640,
				".recovery.log": 0o640, ".lock": 0o644} {
				if mode := modeOf(t, state+suffix); mode != want {
					t.Errorf("umask %#o: %s has mode %v, want %v", umask, suffix, mode, want)
				}
			}
			noError(t, lock.Release())
		}()
	}
}

// Root works on the data of another user: the state stays theirs, and so do the files beside it,
// and the owner can go on alone.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	dir := reachableDir(t, 0o755)
	noError(t, os.Chown(dir, stranger, stranger+1))
	state := filepath.Join(dir, "state")
	for _, path := range []string{"nothing there", "state there"} {
		if path == "state there" {
			noError(t, os.WriteFile(state, []byte("theirs"), 0o660))
			noError(t, os.Chmod(state, 0o660))
			noError(t, os.Chown(state, stranger, stranger+2))
		}
		abandon(t, state)
		lock := tryAcquire(t, state, lockfile.Options{})
		if path == "state there" {
			noError(t, lock.WriteFile(state, []byte("by root"), 0o600))
			if mode := modeOf(t, state); mode != 0o660 {
				t.Errorf("the state has mode %v", mode)
			}
		}
		noError(t, lock.Release())
		group := map[string]int{"nothing there": stranger + 1, "state there": stranger + 2}[path]
		for _, suffix := range []string{"", ".fence", ".recovery.log"} {
			if suffix == "" && path == "nothing there" {
				continue
			}
			if uid, gid := ownerOf(t, state+suffix); uid != stranger || gid != group {
				t.Errorf("%s: %q belongs to %d:%d", path, suffix, uid, gid)
			}
		}
		theirs := startStranger(t, state)
		tenureOf(t, theirs.Ask("acquire"))
		expect(t, theirs, "write by its owner", "ok")
		expect(t, theirs, "release", "ok")
		abandonedBy := startStranger(t, state)
		tenureOf(t, abandonedBy.Ask("acquire"))
		abandonedBy.Kill()
		expect(t, startStranger(t, state), "recover", "ok")
		for _, suffix := range []string{"", ".fence", ".recovery.log", ".recovery.log.1"} {
			if err := os.Remove(state + suffix); err != nil && suffix != ".recovery.log.1" {
				t.Error(err)
			}
		}
	}
}
