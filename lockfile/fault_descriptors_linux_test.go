//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var hogged []int

func init() {
	// spare leaves that many descriptors to be had.
	verbs["spare"] = func(s *script, rest string) string {
		n, err := strconv.Atoi(rest)
		s.p.Check(err)
		s.p.Check(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
		for {
			fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == unix.EMFILE {
				break
			}
			s.p.Check(err)
			hogged = append(hogged, fd)
		}
		for range n {
			s.p.Check(unix.Close(hogged[len(hogged)-1]))
			hogged = hogged[:len(hogged)-1]
		}
		return "ok"
	}
}

// With too few descriptors there is a clear error and nothing left over, however far an acquire or
// a takeover comes; and enough is enough.
func TestFewDescriptors(t *testing.T) {
	for _, dead := range []bool{false, true} {
		state := newState(t)
		if dead {
			abandon(t, state)
		}
		child := startActor(t, state)
		refusals := 0
		for spare := 0; ; spare++ {
			if spare > 16 {
				t.Fatalf("dead %v: no lock with %d descriptors", dead, spare)
			}
			expect(t, child, "spare "+strconv.Itoa(spare), "ok")
			said := child.Ask("try")
			if strings.HasPrefix(said, "held") {
				break
			}
			refusals++
			wantText(t, said, "failed io", state, syscall.EMFILE.Error(), "ulimit -n")
			expect(t, child, "spare 16", "ok") // to see whether anything of the lock stayed
			if in := inspect(t, state); (in.LockID != "") != dead || in.Fence.Counter != 0 {
				t.Errorf(
					"dead %v, %d descriptors: %s; then %v, fence %+v",
					dead,
					spare,
					said,
					in.Finding,
					in.Fence,
				)
			}
			if odd := leftovers(t, state); len(odd) > 1 || len(odd) == 1 && odd[0] != "state.lock" {
				t.Errorf("dead %v, %d descriptors: left over: %q", dead, spare, odd)
			}
		}
		if refusals < 2 {
			t.Errorf("dead %v: only %d refusals", dead, refusals)
		}
		expect(t, child, "check", "ok")
		// Every descriptor is used up: writing needs one, releasing does not.
		expect(t, child, "spare 0", "ok")
		said := child.Ask("write text")
		wantText(t, said, "failed io", state, syscall.EMFILE.Error())
		expect(t, child, "release", "ok")
		noLeftovers(t, state)
		if in := inspect(t, state); in.LockID != "" {
			t.Errorf("after the release: %v", in.Finding)
		}
		expect(t, child, "spare 16", "ok")
		tenureOf(t, child.Ask("try"))
		expect(t, child, "write text", "ok")
		expect(t, child, "release", "ok")
		noLeftovers(t, state)
	}
}
