package lockfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
)

// One folder under two names, in two containers: still one filesystem and one file.
func TestVerdictBindMount(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	other := t.TempDir()
	c := startWitness(t, inNamespaces(unix.CLONE_NEWNS|unix.CLONE_NEWPID), "private",
		"mount proc /proc", "bind "+filepath.Dir(state)+" "+other)
	r := lookThere(t, c, filepath.Join(other, "state.json"))
	holder := startHolder(t, state, nil)
	wantAlive(t, r, state, identity.KernelLockHeld)
	holder.Kill()
	wantTaken(t, r, state, identity.KernelLockReleased)
}

// A filesystem in memory, whose id may be zero in older kernels.
func TestVerdictTmpfs(t *testing.T) {
	skipUnlessRoot(t)
	dir := t.TempDir()
	c := startWitness(t, inNamespaces(unix.CLONE_NEWNS|unix.CLONE_NEWPID), "private",
		"mount proc /proc",
		"mount tmpfs "+dir)
	inside := lookThere(t, c, filepath.Join(dir, "state"))
	outside := filepath.Join(t.TempDir(), "empty", "state") // nothing of it is seen here
	must(t, os.Mkdir(filepath.Dir(outside), 0o755))
	if got := c.Ask("reuse " + filepath.Join(dir, "state")); got == "0" {
		t.Fatal(got)
	}
	wantGone(t, inside, outside, identity.PIDReused)
	wantRecovered(t, inside, outside)
}

// wantRecovered lets an onlooker recover a lock that cannot be seen from here.
func wantRecovered(t *testing.T, r onlooker, state string) {
	t.Helper()
	if a := r("recover", state); a.Recovered == nil {
		t.Fatal(a.Err)
	}
	wantFree(t, r, state)
}

// An overlay and its upper layer show one record, with one inode, under two locks. What is free on
// one side says nothing about the other.
func TestVerdictOverlay(t *testing.T) {
	skipUnlessRoot(t)
	overlay := func(t *testing.T) (upper string, args []string, merged string) {
		t.Helper()
		dir := filepath.Dir(openState(t))
		for _, name := range []string{"lower", "upper", "work", "merged"} {
			must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		}
		merged = filepath.Join(dir, "merged")
		return filepath.Join(dir, "upper", "state"), []string{"private", "mount proc /proc",
			"mount overlay " + merged + " lowerdir=" + dir + "/lower upperdir=" + dir +
				"/upper workdir=" + dir + "/work"}, filepath.Join(merged, "state")
	}
	const container = unix.CLONE_NEWNS | unix.CLONE_NEWPID
	t.Run("holder in overlay", func(t *testing.T) {
		upper, args, merged := overlay(t)
		holder := startWitness(t, inNamespaces(container), args...)
		mustHold(t, holder, merged)
		wantAlive(t, lookThere(t, holder, merged), upper, identity.KernelLockHeld)
		wantUnknown(t, realReader, upper, identity.OtherPIDNamespace)
	})
	t.Run("reader in overlay", func(t *testing.T) {
		upper, args, merged := overlay(t)
		r := lookThere(t, startWitness(t, inNamespaces(container), args...), merged)
		holder := startHolder(t, upper, nil)
		wantUnknown(t, r, upper, identity.OtherPIDNamespace)
		wantAlive(t, realReader, upper, identity.KernelLockHeld)
		holder.Kill()
		wantUnknown(t, r, upper, identity.OtherPIDNamespace)
		wantTaken(t, realReader, upper, identity.NoSuchProcess)
	})
	t.Run("both in overlay", func(t *testing.T) {
		upper, args, merged := overlay(t)
		c := startWitness(t, inNamespaces(container), args...)
		mustHold(t, c, merged)
		r := lookThere(t, c, merged)
		wantAlive(t, r, upper, identity.KernelLockHeld)
		c.Ask("unlock")
		wantAlive(t, r, upper, identity.ProcessRunning)
		c.Ask("release")
		if got := c.Ask("reuse " + merged); got == "0" {
			t.Fatal(got)
		}
		wantGone(t, r, upper, identity.PIDReused)
		wantRecovered(t, r, upper)
	})
	t.Run("one pid namespace", func(t *testing.T) {
		upper, args, merged := overlay(t)
		holder := startWitness(t, inNamespaces(unix.CLONE_NEWNS), args[0], args[2])
		mustHold(t, holder, merged)
		in := wantAlive(t, realReader, upper, identity.ProcessRunning)
		wantSays(t, in, "another file")
		holder.Kill()
		wantTaken(t, realReader, upper, identity.NoSuchProcess)
	})
}
