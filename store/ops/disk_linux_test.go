package ops_test

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
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

func init() {
	probetest.Register("full disk", fullDisk)
	probetest.Register("read-only disk", readOnlyDisk)
}

// inPrivate runs a registered function in a child with mounts of its own.
func inPrivate(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a filesystem of its own")
	}
	private := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	try := exec.Command("/proc/self/exe", "-test.run=^$")
	private(try)
	if err := try.Run(); err != nil {
		t.Skip("no private mounts here: ", err)
	}
	child := probetest.StartAs(t, private, name, t.TempDir())
	if code := child.Wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// A disk that is really full, at every size that is left: what fails says so and leaves nothing
// behind, what was there stays, looking works, and once there is room the change can be made.
func TestFullDisk(t *testing.T) { inPrivate(t, "full disk") }

// A filesystem that is mounted read-only.
func TestReadOnlyDisk(t *testing.T) { inPrivate(t, "read-only disk") }

func mount(p *probetest.Peer, dir, options string, flags uintptr) {
	p.Check(syscall.Mount("tmpfs", dir, "tmpfs", flags, options))
}

func fullDisk(p *probetest.Peer) {
	dir := p.Arg(0)
	mount(p, dir, "size=512k", 0)
	s, err := ops.Open(dir, opstest.Phases(), ops.Options{})
	p.Check(err)
	verbs := []string{"begin r e", "swap r applying", "own r d1", "accept r n", "follow r failed s",
		"swap s cancelled", "begin t e", "begin u other", "swap t cancelled", "swap u cancelled", "archive"}
	failed := 0
	for _, verb := range verbs {
		var before []string
		if _, err := os.Stat(filepath.Join(dir, "requests")); err == nil {
			before = summary(p, s)
		}
		for pages := range 12 {
			fill(p, dir, pages)
			said := do(s, verb)
			now := summary(p, s)
			p.Check(os.Remove(filepath.Join(dir, "ops.ballast")))
			if said == "ok" {
				break
			}
			if failed++; !strings.Contains(said, "no space left") {
				p.Fatalf("%s with %d pages left: %s", verb, pages, said)
			}
			if !slices.Equal(before, now) && !strings.HasPrefix(verb, "follow") {
				p.Fatalf("%s with %d pages left has failed:\n%q\nbefore\n%q", verb, pages, now, before)
			}
			if left := leftovers(p, dir); len(left) != 0 {
				p.Fatalf("%s with %d pages left: left over: %q", verb, pages, left)
			}
		}
		if said := do(s, verb); said != "ok" && said != "again" {
			p.Fatalf("%s when there is room: %s", verb, said)
		}
	}
	if failed < len(verbs) {
		p.Fatalf("only %d changes failed on a full disk", failed)
	}
}

// fill uses up the disk but for so many pages.
func fill(p *probetest.Peer, dir string, pages int) {
	const page = 4096
	f, err := os.Create(filepath.Join(dir, "ops.ballast"))
	p.Check(err)
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(make([]byte, page))
		size += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		p.Fatalf("the disk does not get full: %v", err)
	}
	p.Check(f.Truncate(max(0, size-int64(pages*page))))
	p.Check(f.Close())
}

func readOnlyDisk(p *probetest.Peer) {
	dir := p.Arg(0)
	mount(p, dir, "", 0)
	s, err := ops.Open(dir, opstest.Phases(), ops.Options{})
	p.Check(err)
	op, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e"})
	p.Check(err)
	mount(p, dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY)
	readOnly(p, s, op, syscall.EROFS)
	_, _, err = s.Begin(ctx, ops.Request{ID: "x", Environment: "x"})
	if kind := lockfile.KindOf(err); kind != lockfile.KindReadOnly {
		p.Fatalf("%v is %s", err, fmt.Sprint(kind))
	}
}
