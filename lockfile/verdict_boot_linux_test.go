package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// otherBoot lets a record have been written under another boot.
func otherBoot(f recordFields) { f.proof()["boot"] = "01234567-89ab-4cde-8f01-23456789abcd" }

// A restart ends every process and every kernel lock: the record that was left is still the same
// file.
func TestVerdictRestarted(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	editRecord(t, state, otherBoot)
	wantAlive(t, realReader, state, identity.KernelLockHeld) // whatever the record says
	holder.Kill()
	in := wantGone(t, realReader, state, identity.MachineRestarted)
	wantSays(t, in, "01234567-89ab-4cde-8f01-23456789abcd", readBootID(t))

	// Filesystem ids may be numbered anew by a restart; another inode is another file.
	var inode any
	editRecord(t, state, func(f recordFields) {
		file := f.proof()["file"].(map[string]any)
		file["id"] = "0000000000000001"
		inode = file["inode"]
	})
	wantGone(t, realReader, state, identity.MachineRestarted)
	editRecord(t, state, func(f recordFields) { f.proof()["file"].(map[string]any)["inode"] = 2 })
	wantUnknown(t, realReader, state, identity.OtherBoot)
	editRecord(t, state, func(f recordFields) {
		f.proof()["file"].(map[string]any)["inode"] = inode
		f.proof()["kernelLock"] = nil
	})
	wantUnknown(t, realReader, state, identity.OtherBoot)
	editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
	wantTaken(t, realReader, state, identity.MachineRestarted)
}

// The number of an owner from before a restart may belong to anybody now.
func TestVerdictRestartedNumberInUse(t *testing.T) {
	state := openState(t)
	startHolder(t, state, nil).Kill()
	editRecord(t, state, func(f recordFields) {
		otherBoot(f)
		f["pid"] = os.Getpid()
	})
	wantTaken(t, realReader, state, identity.MachineRestarted)
}

// A copy of a record from before a restart is a restored backup: nobody knows where its owner is.
func TestVerdictRestartedCopy(t *testing.T) {
	state := openState(t)
	startHolder(t, state, nil).Kill()
	editRecord(t, state, otherBoot)
	copyRecord(t, state)
	in := wantUnknown(t, realReader, state, identity.OtherBoot)
	wantSays(t, in, "another file")
}

func readBootID(t *testing.T) string {
	t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(id))
}

// Container managers mount a file over the boot id. It is not the kernel's and proves nothing, for
// whoever reads it and for whoever wrote it into no record.
func TestVerdictBootIDMountedOver(t *testing.T) {
	skipUnlessRoot(t)
	const uuid = "/proc/sys/kernel/random/uuid" // procfs as well, and never twice the same
	for name, text := range map[string]string{
		"other":        "89abcdef-0123-4567-89ab-cdef01234567\n",
		"the real one": readBootID(t) + "\n",
		"empty":        "",
		"five bytes":   "12345",
		"uuid":         uuid,
	} {
		fake := filepath.Join(t.TempDir(), "boot_id")
		if text == uuid {
			fake = uuid
		} else {
			putFile(t, fake, []byte(text))
		}
		mounted := []string{"private", "bind " + fake + " /proc/sys/kernel/random/boot_id"}
		t.Run("reader "+name, func(t *testing.T) {
			state := openState(t)
			r := lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWNS), mounted...), "")
			holder := startHolder(t, state, nil)
			wantAlive(t, r, state, identity.KernelLockHeld)
			holder.Kill()
			editRecord(t, state, withoutKernelLock)
			wantUnknown(t, r, state, identity.BootUnreadable)
			editRecord(t, state, func(f recordFields) { f.proof()["kernelLock"] = "ofd" })
			in := wantTaken(t, r, state, identity.KernelLockReleased)
			wantSays(t, in, "not genuine")
		})
		t.Run("holder "+name, func(t *testing.T) {
			state := openState(t)
			holder := startHolder(t, state, inNamespaces(unix.CLONE_NEWNS), mounted...)
			in := wantAlive(t, realReader, state, identity.KernelLockHeld)
			if in.Owner.Boot != "" {
				t.Errorf("the record names boot %q, which is not genuine", in.Owner.Boot)
			}
			holder.Kill()
			wantTaken(t, realReader, state, identity.KernelLockReleased)
		})
	}
}

// A clock step moves btime in /proc/stat, and every wall time that is derived from it.
func TestVerdictShiftedBtime(t *testing.T) {
	skipUnlessRoot(t)
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^btime (\d+)$`)
	btime, err := strconv.Atoi(string(line.FindSubmatch(stat)[1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, shift := range []int{-3600, 3600} {
		fake := filepath.Join(t.TempDir(), "stat")
		putFile(t, fake, line.ReplaceAll(stat, fmt.Appendf(nil, "btime %d", btime+shift)))
		mounted := []string{"private", "bind " + fake + " /proc/stat"}
		r := lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWNS), mounted...), "")
		state := openState(t)
		holder := startHolder(t, state, nil)
		wantAlive(t, r, state, identity.KernelLockHeld)
		editRecord(t, state, withoutKernelLock)
		if got := holder.Ask("unlock"); got != "ok" {
			t.Fatal(got)
		}
		wantAlive(t, r, state, identity.ProcessRunning)
		// The start decides.
		editRecord(t, state, func(f recordFields) { delete(f.proof(), "pidfd") })
		wantAlive(t, r, state, identity.ProcessRunning)
		holder.Kill()
		wantTaken(t, r, state, identity.NoSuchProcess)

		holder = startHolder(t, state, inNamespaces(unix.CLONE_NEWNS), mounted...)
		wantAlive(t, realReader, state, identity.KernelLockHeld)
		holder.Kill()
		wantTaken(t, realReader, state, identity.NoSuchProcess)
	}
}

// The number of a dead owner goes to another process: never alive, and both values are named.
func TestVerdictPIDReused(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	c := startWitness(t, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
		"mount proc /proc")
	r := lookThere(t, c, "")
	pid := c.Ask("reuse " + state)
	recorded, err := os.ReadFile(state + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	proof := parseRecord(t, recorded).proof()
	if got := parseRecord(t, recorded)["pid"]; fmt.Sprint(got) != pid {
		t.Fatalf("the record says process %v, the child %s", got, pid)
	}
	t.Run("pidfd", func(t *testing.T) {
		if !hasPIDFDInode(t, state) {
			t.Skip("this kernel has no pidfd inodes, which came with Linux 6.9")
		}
		in := wantGone(t, r, state, identity.PIDReused)
		wantSays(t, in, fmt.Sprintf("recorded pidfd:%v, now pidfd:", proof["pidfd"]))
		editRecord(t, state, withoutKernelLock)
		wantGone(t, r, state, identity.PIDReused)
	})
	t.Run("start", func(t *testing.T) {
		editRecord(t, state, func(f recordFields) {
			delete(f.proof(), "pidfd")
			f.proof()["kernelLock"] = "ofd"
		})
		in := wantGone(t, r, state, identity.PIDReused)
		wantSays(t, in, fmt.Sprintf("recorded %v, now ticks:", proof["start"]))
		editRecord(t, state, withoutKernelLock)
		in = wantGone(t, r, state, identity.PIDReused)
		wantSays(t, in, fmt.Sprintf("recorded %v, now ticks:", proof["start"]))
	})
	t.Run("incomparable", func(t *testing.T) {
		// What cannot be compared is not different: B20.
		editRecord(t, state, func(f recordFields) { delete(f.proof(), "start") })
		wantUnknown(t, r, state, identity.StartUnreadable)
		editRecord(t, state,
			func(f recordFields) { f.proof()["start"] = "filetime:132514560000000000" })
		wantUnknown(t, r, state, identity.StartUnreadable)
		editRecord(t, state, func(f recordFields) {
			f.proof()["start"] = proof["start"]
			delete(f.proof(), "timens")
		})
		wantUnknown(t, r, state, identity.NamespaceUnreadable)
	})
	putFile(t, state+".lock", recorded)
	wantTaken(t, r, state, identity.PIDReused)
	log, _, err := lockfile.ReadLog(state, lockfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(log[0].Evidence); !strings.Contains(got, "recorded") ||
		fmt.Sprint(log[0].RecoveredPID) != pid {
		t.Errorf("the log does not name both identities of process %s: %s", pid, got)
	}
}
