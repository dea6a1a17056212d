package fence

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func toBytes(s string) []byte { return []byte(s) }

// Whatever happens to the file, the number that a gate shows is never below what was reached, as
// long as the floor knows it; and an intact file is never changed by looking or holding.
func TestNeverBelowTheFloor(t *testing.T) {
	if runtime.GOOS == "windows" { // Wine takes its time over every file
		few := flag.Lookup("rapid.checks")
		before := few.Value.String()
		check(t, few.Value.Set("15"))
		defer few.Value.Set(before)
	}
	path, err := filepath.EvalSymlinks(quickTemp(t))
	check(t, err)
	file := filepath.Join(path, "S.fence")
	nasty := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 80),
		rapid.Map(rapid.StringMatching(`[0-9 +\-.e\x00\n]{0,40}`), toBytes),
		rapid.Map(rapid.StringMatching(`0{0,21}[1-9]?[0-9]{0,20}\n?`), toBytes),
	)
	rapid.Check(t, func(t *rapid.T) {
		os.Remove(file)
		var reached Token // what the log would know
		opts := Options{UID: -1, GID: -1, Floor: func() (Token, error) { return reached, nil }}
		open := func() *Counter {
			c, err := Open(file)
			if err != nil {
				t.Fatal(err)
			}
			c.opts = opts
			return c
		}
		c := open()
		hold := func() {
			before, _ := os.ReadFile(file)
			now, err := held(c)
			if err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := decode(before); err == nil && n == now {
				if !bytes.Equal(before, after) {
					t.Fatalf("holding changed %q to %q", before, after)
				}
			} else if now < reached {
				t.Fatalf("from %q: at %d, but %d was reached", before, now, reached)
			} else if !bytes.Equal(after, encode(now)) {
				t.Fatalf("repaired from %q to %q, at %d", before, after, now)
			}
			reached = max(reached, now)
		}
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				g, err := c.TryHold()
				if err != nil {
					t.Fatal(err)
				}
				defer g.Release()
				now, err := g.Current()
				if err != nil {
					t.Fatal(err)
				}
				to := now + Token(rapid.Uint64Range(0, 1000).Draw(t, "by"))
				reached = max(reached, min(to, Max)) // the log comes first
				if err := g.Raise(to); (err == nil) != (to > now && to <= Max) {
					t.Fatalf("Raise(%d) at %d: %v", to, now, err)
				}
			},
			"damage": func(t *rapid.T) {
				b := nasty.Draw(t, "bytes")
				if n, err := decode(b); err == nil && n < reached {
					t.Skip("a valid number that is too small cannot be told from a true one")
				}
				if err := os.WriteFile(file, b, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"delete": func(t *rapid.T) { os.Remove(file) },
			"reopen": func(t *rapid.T) { c = open() },
			"look": func(t *rapid.T) {
				before, _ := os.ReadFile(file)
				now, err := c.Current()
				after, _ := os.ReadFile(file)
				if !bytes.Equal(before, after) {
					t.Fatalf("looking changed %q to %q", before, after)
				}
				if err == nil && now < reached {
					t.Fatalf("Current is %d, but %d was reached", now, reached)
				}
			},
			"": func(t *rapid.T) { hold() },
		})
	})
}
