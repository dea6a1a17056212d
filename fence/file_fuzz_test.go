package fence

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
)

// Whatever stands in the file: a number is only what was written whole, whoever takes the gate
// repairs the rest from what is known elsewhere, and nothing is ever below that.
func FuzzFile(f *testing.F) {
	for in := range decodable {
		f.Add([]byte(in), uint64(3))
	}
	for _, in := range garbage {
		f.Add([]byte(in), uint64(7))
	}
	path := f.TempDir()
	dir, err := vfs.OS().OpenDir(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Close() })
	f.Fuzz(func(t *testing.T, content []byte, known uint64) {
		floor := Token(known % (uint64(Max) + 1))
		name := "counter"
		if err := os.WriteFile(filepath.Join(path, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		number, damage := decode(content)
		c := New(dir, name, Options{UID: -1, GID: -1,
			Floor: func() (Token, error) { return floor, nil }})
		if now, err := c.Current(); (err == nil) != (damage == nil) || now != number {
			t.Fatalf("%q: %d, %v", content, now, err)
		}
		g, err := c.Hold(context.Background())
		if len(content) > repairable {
			if damage != nil && err == nil {
				t.Fatalf("%d bytes were taken for a counter", len(content))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := number
		if damage != nil {
			want = floor
		}
		if now, err := g.Current(); err != nil || now != want {
			t.Fatalf("%q, %d known: %d, %v", content, floor, now, err)
		}
		if want < Max {
			if err := g.Raise(want + 1); err != nil {
				t.Fatal(err)
			}
			want++
		}
		if err := g.Release(); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(path, name))
		if n, e := decode(after); err != nil || e != nil || n != want {
			t.Fatalf("%q became %q, want %d: %v, %v", content, after, want, err, e)
		}
		if damage == nil && number < Max && !bytes.Equal(after, encode(want)) {
			t.Fatalf("%q became %q", content, after)
		}
	})
}
