//go:build amd64 || arm64

package lockfile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// A real filesystem without hard links, owners and modes.
func TestVFAT(t *testing.T) {
	if _, err := exec.LookPath("mkfs.vfat"); err != nil {
		t.Skip("no mkfs.vfat here (package dosfstools)")
	}
	if b, err := os.ReadFile("/proc/filesystems"); err == nil &&
		!slices.Contains(strings.Fields(string(b)), "vfat") {
		t.Skip("this kernel has no vfat")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("no loop devices here")
	}
	inPrivate(t, "vfat")
}

func init() { scenarios["vfat"] = vfat }

// loopDevice makes a block device of a file, until the mount is gone.
func loopDevice(p *probetest.Peer, image string) string {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	p.Check(err)
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	p.Check(err)
	device := fmt.Sprintf("/dev/loop%d", n)
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	p.Check(err)
	back, err := os.OpenFile(image, os.O_RDWR, 0)
	p.Check(err)
	defer back.Close()
	p.Check(unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_SET_FD, int(back.Fd())))
	p.Check(
		unix.IoctlLoopSetStatus64(int(loop.Fd()), &unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}),
	)
	p.Cleanup(func() { loop.Close() })
	return device
}

func vfat(p *probetest.Peer, dir string) {
	image := filepath.Join(dir, "image")
	p.Check(os.WriteFile(image, nil, 0o600))
	p.Check(os.Truncate(image, 4<<20))
	if out, err := exec.Command("mkfs.vfat", image).CombinedOutput(); err != nil {
		p.Fatalf("mkfs.vfat: %v: %s", err, out)
	}
	at := filepath.Join(dir, "mnt")
	p.Check(os.Mkdir(at, 0o700))
	p.Check(syscall.Mount(loopDevice(p, image), at, "vfat", 0, ""))
	p.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) })
	c, err := lockfile.CapabilitiesOf(at, lockfile.Options{})
	p.Check(err)
	if c.Filesystem != "vfat" || !c.Local || !c.OneStep || c.Publish != "rename" ||
		c.KernelLock != "ofd" {
		p.Fatalf("%+v", c)
	}
	state := filepath.Join(at, "state")
	race := startContenders(p, 4, state)
	race.turn(p, "", 0, false)
	for round := 1; round <= 3; round++ {
		abandon(p, state)
		race.turn(p, "", round, true)
	}
	// Small and capital letters are one name here, and so one lock.
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	p.Check(err)
	if _, err := lockfile.TryAcquire(filepath.Join(at, "STATE"), lockfile.Options{}); !errors.Is(
		err,
		lockfile.ErrBusy,
	) {
		p.Fatalf("the same state in capital letters: %v", err)
	}
	p.Check(lock.Release())
	noLeftovers(p, state)
}
