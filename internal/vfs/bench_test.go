package vfs

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// BenchmarkPublish compares the ways to publish a complete, locked record of 300 bytes under a name
// that must not exist, and to remove it again: create, kernel lock, write, publish, unlink, close.
func BenchmarkPublish(b *testing.B) {
	record := bytes.Repeat([]byte("x"), 300)
	ways := []struct {
		name    string
		create  func(d Dir) (File, error)
		publish func(d Dir, f File) error
	}{
		{"unnamed+link", func(d Dir) (File, error) { return d.CreateUnnamed(0o600) },
			func(d Dir, f File) error { return d.LinkUnnamed(f, "S.lock") }},
		{"named+rename", func(d Dir) (File, error) { return d.Create("S.tmp", 0o600) },
			func(d Dir, f File) error { return d.RenameNoReplace("S.tmp", "S.lock") }},
		{"named+link+unlink", func(d Dir) (File, error) { return d.Create("S.tmp", 0o600) },
			func(d Dir, f File) error { return errors.Join(d.Link("S.tmp", "S.lock"), d.Remove("S.tmp")) }},
		{"in-place", func(d Dir) (File, error) { return d.Create("S.lock", 0o600) },
			func(d Dir, f File) error { return nil }},
	}
	for _, place := range []struct{ name, root string }{{"disk", ""}, {"memory", "/dev/shm"}} {
		if place.root != "" {
			if runtime.GOOS != "linux" {
				continue
			}
		}
		for _, way := range ways {
			b.Run(place.name+"/"+way.name, func(b *testing.B) {
				d := openTemp(b, place.root)
				for b.Loop() {
					f, err := way.create(d)
					if errors.Is(err, errors.ErrUnsupported) {
						b.Skip(err)
					}
					must{b}.ok(err)
					must{b}.ok(f.Lock(NativeLock()))
					_, err = f.WriteAt(record, 0)
					must{b}.ok(err)
					must{b}.ok(way.publish(d, f))
					must{b}.ok(d.Remove("S.lock"))
					must{b}.ok(f.Unlock(NativeLock()))
					must{b}.ok(f.Close())
				}
			})
		}
	}
}

// BenchmarkSync is what durability costs.
func BenchmarkSync(b *testing.B) {
	for _, c := range []struct {
		name  string
		dirty bool
		dir   bool
	}{{"clean-file", false, false}, {"written-file", true, false}, {"clean-dir", false, true}} {
		b.Run(c.name, func(b *testing.B) {
			d := openTemp(b, "")
			f := put(b, d, "a", "x")
			must{b}.ok(f.Sync())
			for b.Loop() {
				if c.dirty {
					f.WriteAt([]byte("00000000000000000001\n"), 0)
				}
				if c.dir {
					must{b}.ok(d.Sync())
				} else {
					must{b}.ok(f.Sync())
				}
			}
		})
	}
}
