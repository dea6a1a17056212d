//go:build amd64 || arm64

package lockfile_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// A full disk: no lock and nothing left over, but an existing lock stays, and release works.
func TestFullDisk(t *testing.T) { inPrivate(t, "full disk") }

// A takeover on a disk that gets full at any step: nothing logged, no marker, the record unchanged.
func TestFullDiskTakeover(t *testing.T) { inPrivate(t, "full disk, dead owner") }

// A filesystem that is mounted read-only.
func TestReadOnly(t *testing.T) { inPrivate(t, "read-only") }

func init() {
	scenarios["full disk"] = fullDisk
	scenarios["full disk, dead owner"] = fullDiskTakeover
	scenarios["read-only"] = readOnly
}

const page = 4096

// fill uses up the disk but for so many pages.
func fill(p *probetest.Peer, dir string, pages int) {
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
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
	p.Check(f.Truncate(size - int64(pages*page)))
	p.Check(f.Close())
}

// noSpace checks an error of a full disk.
func noSpace(p *probetest.Peer, err error, state string) {
	p.Helper()
	failure(p, err, lockfile.KindNoSpace, syscall.ENOSPC, state)
	wantText(p, err.Error(), "make room")
}

func fullDisk(p *probetest.Peer, dir string) {
	mount(p, "tmpfs", dir, "size=64k")
	state := filepath.Join(dir, "state")
	for _, before := range []string{"nothing there", "a fence there"} {
		fill(p, dir, 0)
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		if lock != nil {
			p.Fatalf("%s: a lock on a full disk", before)
		}
		noSpace(p, err, state)
		noLeftovers(p, state)
		p.Check(os.Remove(filepath.Join(dir, "ballast")))
		lock, err = lockfile.TryAcquire(state, lockfile.Options{})
		p.Check(err)
		p.Check(lock.WriteFile(state, []byte("before"), 0o600))
		p.Check(lock.Release())
	}
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	p.Check(err)
	fill(p, dir, 0)
	noSpace(p, lock.WriteFile(state, []byte("after"), 0o600), state)
	big := bytes.Repeat([]byte("after"), 20*page)
	if _, err := lock.WriteFrom(state, bytes.NewReader(big), 0o600); err == nil {
		p.Fatalf("%d bytes on a full disk", len(big))
	} else {
		noSpace(p, err, state)
	}
	p.Check(lock.Check())
	if text := content(p, state); text != "before" {
		p.Fatalf("the state is %q", text)
	}
	if odd := leftovers(p, state); len(odd) != 1 || odd[0] != "state.lock" {
		p.Fatalf("beside the state are %q", odd)
	}
	p.Check(lock.Commit(context.Background(), func() error { return os.Chmod(state, 0o640) }))
	p.Check(lock.Release())
	noLeftovers(p, state)
}

func fullDiskTakeover(p *probetest.Peer, dir string) {
	mount(p, "tmpfs", dir, "size=64k")
	state := filepath.Join(dir, "state")
	abandon(p, state)
	record := content(p, state+".lock")
	for pages := 0; ; pages++ {
		fill(p, dir, pages)
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		if err == nil {
			if pages < 2 || lock.Token() != 1 {
				p.Fatalf("token %d with %d pages left", lock.Token(), pages)
			}
			p.Check(lock.Release())
			noLeftovers(p, state)
			return
		}
		noSpace(p, err, state)
		if now := content(p, state+".lock"); now != record {
			p.Fatalf("with %d pages left the record became %q", pages, now)
		}
		names, err := os.ReadDir(dir)
		p.Check(err)
		for _, e := range names {
			switch e.Name() {
			case "ballast", "state.lock", "state.fence", "state.recovery.log":
			default:
				p.Fatalf("with %d pages left: %s is left over", pages, e.Name())
			}
		}
		entries, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
		if p.Check(err); len(entries)+unreadable != 0 {
			p.Fatalf("with %d pages left was logged: %v, and %d lines", pages, entries, unreadable)
		}
		in := inspect(p, state)
		if in.Verdict != identity.Gone || in.Fence.Counter != 0 {
			p.Fatalf("with %d pages left: %v, fence %+v", pages, in.Finding, in.Fence)
		}
	}
}

func readOnly(p *probetest.Peer, dir string) {
	mount(p, "tmpfs", dir, "size=64k")
	state := filepath.Join(dir, "state")
	remount := func(flags uintptr) {
		p.Check(syscall.Mount("", dir, "", flags|syscall.MS_REMOUNT, ""))
	}
	refused := func(verdict identity.Verdict) {
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		if lock != nil {
			p.Fatalf("a lock on a read-only disk")
		}
		failure(p, err, lockfile.KindReadOnly, syscall.EROFS, state)
		wantText(p, err.Error(), "read-write")
		if in := inspect(p, state); in.Verdict != verdict {
			p.Fatalf("%v, want %v", in.Finding, verdict)
		}
	}
	remount(syscall.MS_RDONLY)
	refused(identity.Free)
	remount(0)
	abandon(p, state)
	before := content(p, state+".lock")
	remount(syscall.MS_RDONLY)
	refused(identity.Gone)
	_, err := lockfile.Break(context.Background(), state, lockfile.BreakRequest{
		LockID: inspect(p, state).LockID, Reason: "test"}, lockfile.Options{})
	failure(p, err, lockfile.KindReadOnly, syscall.EROFS, state)
	if now := content(p, state+".lock"); now != before {
		p.Fatalf("the record became %q", now)
	}
	remount(0)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	p.Check(err)
	p.Check(lock.Release())
	noLeftovers(p, state)
}
