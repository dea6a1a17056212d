package lockfile_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
)

// otherUser is a user that owns nothing.
const otherUser = 4321

// The number of a process in another pid namespace means another process here, or none. The kernel
// lock means the same everywhere.
func TestVerdictHolderInContainer(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	holder := startHolder(t, state, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
		"mount proc /proc")
	in := wantAlive(t, realReader, state, identity.KernelLockHeld)
	if in.Owner.PID != 1 || in.Owner.PIDNamespace == 0 {
		t.Errorf("owner %+v, want process 1 of its namespace", in.Owner)
	}
	wantSays(t, in, "another pid namespace")

	editRecord(t, state, withoutKernelLock)
	wantAlive(t, realReader, state, identity.KernelLockHeld) // held all the same
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	wantUnknown(t, realReader, state, identity.OtherPIDNamespace)
	holder.Kill()
	wantUnknown(t, realReader, state, identity.OtherPIDNamespace)
	editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
	wantTaken(t, realReader, state, identity.KernelLockReleased)
}

// Process 1 of the reader's namespace runs, and is not the owner, who is process 1 of another.
func TestVerdictContainerReplaced(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	flags := uintptr(unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS)
	first := startHolder(t, state, inNamespaces(flags), "private", "mount proc /proc", "host first")
	second := startWitness(t, inNamespaces(flags), "private", "mount proc /proc", "host second")
	looked := wantAlive(t, lookThere(t, second, ""), state, identity.KernelLockHeld)
	if looked.Owner.Host != "first" {
		t.Errorf("owner %+v, want host first", looked.Owner)
	}
	first.Kill()
	wantTaken(t, lookThere(t, second, ""), state, identity.KernelLockReleased)
}

func TestVerdictReaderInContainer(t *testing.T) {
	skipUnlessRoot(t)
	// With its own /proc, and not.
	for _, inside := range [][]string{{"private", "mount proc /proc"}, nil} {
		state := openState(t)
		r := lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS),
			inside...), "")
		holder := startHolder(t, state, nil)
		wantAlive(t, r, state, identity.KernelLockHeld)
		holder.Kill()
		wantGone(t, r, state, identity.KernelLockReleased)
		editRecord(t, state, withoutKernelLock)
		wantUnknown(t, r, state, identity.OtherPIDNamespace)
		editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
		wantTaken(t, r, state, identity.KernelLockReleased)
	}
}

// In another time namespace start values are shifted: different there is not another process.
func TestVerdictTimeNamespace(t *testing.T) {
	skipUnlessRoot(t)
	const shift = "time 100000"
	t.Run("holder", func(t *testing.T) { verdictTimeNamespace(t, []string{shift}, nil) })
	t.Run("reader", func(t *testing.T) { verdictTimeNamespace(t, nil, []string{shift}) })
}

func verdictTimeNamespace(t *testing.T, holderIn, readerIn []string) {
	state := openState(t)
	r := lookThere(t, startWitness(t, nil, readerIn...), "")
	holder := startHolder(t, state, nil, holderIn...)
	wantAlive(t, r, state, identity.KernelLockHeld)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	if hasPIDFDInode(t, state) {
		wantAlive(t, r, state, identity.ProcessRunning) // a pidfd is the same in every namespace
	}
	editRecord(t, state, func(f recordFields) {
		delete(f.proof(), "pidfd")
		withoutKernelLock(f)
	})
	wantUnknown(t, r, state, identity.OtherTimeNamespace)
	holder.Kill()
	wantGone(t, r, state, identity.NoSuchProcess)
	editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
	wantTaken(t, r, state, identity.NoSuchProcess)
}

// hasPIDFDInode reports whether the record has a pidfd inode, which kernels before 6.9 do not have.
func hasPIDFDInode(t *testing.T, state string) bool {
	t.Helper()
	content, err := os.ReadFile(state + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	_, has := parseRecord(t, content).proof()["pidfd"]
	return has
}

// A host name is a label.
func TestVerdictRenamedHost(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	holder := startHolder(t, state, nil)
	r := lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWUTS), "host other-name"), "")
	looked := wantAlive(t, r, state, identity.KernelLockHeld)
	if own, err := os.Hostname(); err != nil || looked.Owner.Host != own {
		t.Errorf("owner's host is %q, want %q (%v)", looked.Owner.Host, own, err)
	}
	holder.Kill()
	wantTaken(t, r, state, identity.NoSuchProcess)
}

// Another user sees what the mode of the record lets it see, and the kernel lock if it may read it.
func TestVerdictOtherUser(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	r := lookThere(t, startWitness(t, nil, "user "+strconv.Itoa(otherUser)), "")
	holder := startHolder(t, state, nil)
	wantUnknown(t, r, state, identity.NotPermitted)
	holder.Kill()
	wantUnknown(t, r, state, identity.NotPermitted)

	state = openState(t)
	holder = startWitness(t, nil)
	mustHold(t, holder, state+" 0644")
	wantAlive(t, r, state, identity.KernelLockHeld)
	holder.KillNoReap()
	wantGone(t, r, state, identity.ProcessExited)
	holder.Kill()
	wantGone(t, r, state, identity.NoSuchProcess)
	// Gone, but this user cannot take it: an error, and nothing changed.
	before := folderFacts(t, filepath.Dir(state))
	for _, verb := range []string{"try", "recover"} {
		a := r(verb, state)
		if a.Err == "" || a.Busy || a.Got || a.Recovered != nil {
			t.Errorf("%s in a folder of root: %+v", verb, a)
		}
	}
	wantFolder(t, filepath.Dir(state), before)
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// Root judges the locks of other users, and what it makes beside their data is theirs.
func TestVerdictRootAndOtherUser(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	if err := os.Chown(filepath.Dir(state), otherUser, otherUser); err != nil {
		t.Fatal(err)
	}
	startHolder(t, state, nil).Kill() // root's: the fence is made
	wantTaken(t, realReader, state, identity.NoSuchProcess)
	for _, name := range []string{state + ".fence", state + ".recovery.log"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != otherUser {
			t.Errorf("%s belongs to user %d: root has locked the owner of the data out", name, uid)
		}
	}
	holder := startHolder(t, state, nil, "user "+strconv.Itoa(otherUser))
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	holder.Kill()
	other := lookThere(t, startWitness(t, nil, "user "+strconv.Itoa(otherUser)), "")
	wantTaken(t, other, state, identity.NoSuchProcess)
}

// hidepid makes processes of others look missing in /proc.
func TestVerdictHidepid(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	r := lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWNS), "private",
		"mount proc /proc hidepid=2",
		"user "+strconv.Itoa(otherUser)), "")
	holder := startWitness(t, nil)
	mustHold(t, holder, state+" 0644")
	wantAlive(t, r, state, identity.KernelLockHeld)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	withPIDFD := hasPIDFDInode(t, state)
	if withPIDFD {
		wantAlive(t, r, state, identity.ProcessRunning)
	}
	editRecord(t, state, func(f recordFields) {
		delete(f.proof(), "pidfd")
		withoutKernelLock(f)
	})
	wantUnknown(t, r, state, identity.StartUnreadable) // it exists, and nothing else can be read
	holder.Kill()
	wantGone(t, r, state, identity.NoSuchProcess)
	editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
	wantGone(t, r, state, identity.NoSuchProcess)
}

// Without /proc a free lock can be had, and a dead owner's kernel lock says enough.
func TestVerdictWithoutProc(t *testing.T) {
	skipUnlessRoot(t)
	for name, surroundings := range map[string]func(dir string) []string{
		"chroot":  func(dir string) []string { return []string{"chroot " + dir} },
		"covered": func(string) []string { return []string{"private", "mount tmpfs /proc"} },
	} {
		t.Run(name, func(t *testing.T) {
			state := openState(t)
			dir := filepath.Dir(state)
			inside := state
			if name == "chroot" {
				inside = "/state.json"
			}
			c := startWitness(t, inNamespaces(unix.CLONE_NEWNS), surroundings(dir)...)
			r := lookThere(t, c, inside)
			wantFree(t, r, state)
			mustHold(t, c, inside)
			mine := wantAlive(t, realReader, state, identity.KernelLockHeld)
			if mine.Owner.Start != "" || mine.Owner.Boot != "" {
				t.Errorf("without /proc the record says start %q, boot %q", mine.Owner.Start,
					mine.Owner.Boot)
			}
			if got := c.Ask("release"); got != "ok" {
				t.Fatal(got)
			}

			holder := startHolder(t, state, nil)
			wantAlive(t, r, state, identity.KernelLockHeld)
			holder.Kill()
			editRecord(t, state, withoutKernelLock)
			wantUnknown(t, r, state, identity.BootUnreadable)
			editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
			wantTaken(t, r, state, identity.KernelLockReleased)

			// And a dead owner that had no /proc, seen from where there is one.
			mustHold(t, c, inside)
			c.Kill()
			wantTaken(t, realReader, state, identity.KernelLockReleased)
		})
	}
}

// A process that loses its kernel lock blindly is gone for another pid namespace: said in doc.go.
func TestVerdictUnlockedInContainer(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	holder := startHolder(t, state, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
		"mount proc /proc")
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	wantAlive(t, lookThere(t, holder, ""), state, identity.ProcessRunning)
	wantTaken(t, realReader, state, identity.KernelLockReleased)
	if got := holder.Ask("release"); got != "fenced" {
		t.Errorf("release of the overtaken lock: %s, want fenced", got)
	}
}
