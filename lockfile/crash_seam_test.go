package lockfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/probe/probetest"
)

// The crashes of this file happen at the seam between the protocol and the disk, and so on every
// system. Those of crash_points_linux_test.go happen at the system calls themselves.

func init() { probetest.Register("crasher", crasher) }

// crasher is an actor for the state of its first argument that kills itself before change N of the
// disk (second argument), or half-way through where "half N" is a write, with the knobs of the
// third. It does the verbs of the other arguments and tells after each "done VERB", and before it
// dies where.
func crasher(p *probetest.Peer) {
	half, number, _ := strings.Cut(p.Arg(1), " ")
	if number == "" {
		half, number = "", half
	}
	at, err := strconv.Atoi(number)
	p.Check(err)
	var k knobs
	p.Check(json.Unmarshal([]byte(p.Arg(2)), &k))
	n := 0
	vfs.Interpose(func(under vfs.FS) vfs.FS {
		return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
			if !changes(op) || half != "" && !op.Writes {
				return faultfs.Action{}
			}
			if n++; n != at {
				return faultfs.Action{}
			}
			return faultfs.Action{Half: half != "", Do: func() {
				p.Send("dies at " + op.String())
				killMyself()
			}}
		})
	})
	s := &script{p: p, path: p.Arg(0), opts: k.options(), settled: func() {}}
	for _, word := range p.Args()[3:] {
		verb, rest, _ := strings.Cut(word, " ")
		reply := verbs[verb](s, rest)
		if reply != "ok" && !strings.HasPrefix(reply, "held ") {
			p.Fatalf("%s: %s", word, reply)
		}
		p.Send("done " + word)
	}
	p.Send("survived")
	p.Wait()
}

// changes reports whether an operation changes what is on the disk.
func changes(op faultfs.Op) bool {
	switch op.Verb {
	case "resolve", "open-dir", "open", "pin", "look-at", "look-at-dir", "look-at-open", "list", "read",
		"lock", "test-lock", "test-alone":
		return false
	}
	return true
}

func killMyself() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		os.Exit(9)
	}
	select {}
}

// Whoever is killed before any change of the disk, or half-way through a write, leaves a record
// that is absent or whole; the next one acquires without a person, nothing is left over, and no
// number is given twice. (I3, I4, I6, I7)
func TestDiesAtEveryChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, state string) (used int)
		knobs  knobs
		verbs  []string
	}{
		{"tenure", nothing, flushed, []string{"acquire", "write one", "write two", "release"}},
		{"another file", nothing, flushed, []string{"acquire", "write-other DIR/other"}},
		{"takeover", abandoned, flushed, []string{"acquire", "release"}},
		{"takeover, torn log", abandonedOften, flushed, []string{"acquire"}},
		{"recover", abandonedOften, flushed, []string{"recover"}},
		{"number of its own", abandoned, knobs{Durability: flushed.Durability, FreshToken: true},
			[]string{"acquire"}},
	} {
		for _, half := range []string{"", "half "} {
			name := c.name
			if half != "" {
				name += ", half-way"
			}
			t.Run(name, func(t *testing.T) {
				needsProof(t)
				t.Parallel()
				points := 0
				for n := 1; ; n++ {
					survived := false
					if !t.Run(fmt.Sprint(n), func(t *testing.T) {
						state := newState(t)
						used := c.before(t, state)
						var acked string
						acked, survived = crash(t, state, half+fmt.Sprint(n), c.knobs, c.verbs)
						c.knobs.aftermath(t, state, used, acked)
					}) || survived {
						break
					}
					if points++; testing.Short() || fewerOnWine(6) < 6 {
						n += 4
					}
				}
				if points == 0 || half == "" && points < 3 {
					t.Errorf("only %d places to be killed at", points)
				}
				t.Logf("killed at %d places", points)
			})
		}
	}
}

func nothing(*testing.T, string) int { return 0 }

// crash runs a crasher to its end, and returns the text that it had written and been told so.
func crash(t *testing.T, state, at string, k knobs, verbs []string) (acked string, survived bool) {
	t.Helper()
	text, err := json.Marshal(k)
	noError(t, err)
	args := []string{state, at, string(text)}
	for _, v := range verbs {
		args = append(args, strings.ReplaceAll(v, "DIR", filepath.Dir(state)))
	}
	child := probetest.Start(t, "crasher", args...)
	acked = "nothing"
	for {
		line, ok := child.Next()
		if !ok {
			t.Fatalf("the child ended by itself, with code %d", child.Wait())
		}
		if text, ok := strings.CutPrefix(line, "done write "); ok {
			acked = text
		}
		if where, ok := strings.CutPrefix(line, "dies at "); ok {
			t.Log("killed before it could " + where)
			child.Wait()
			return acked, false
		}
		if line == "survived" {
			child.Kill()
			return acked, true
		}
	}
}

// A person who breaks a living holder's lock is killed on the way: the holder has its lock, or is
// told that it is fenced, and can clear up; it never commits after the counter was raised. (I2, I4)
func TestBreakerDiesAtEveryChange(t *testing.T) {
	t.Parallel()
	var ends []string
	for n, survived := 1, false; !survived; n++ {
		survived = !t.Run(fmt.Sprint(n), func(t *testing.T) {
			state := newState(t)
			holder := startActor(t, state)
			id, _, _ := tenureOf(t, holder.Ask("acquire"))
			expect(t, holder, "write held", "ok")
			_, survived = crash(t, state, fmt.Sprint(n), flushed, []string{"break " + id})
			ends = append(ends, afterBreaker(t, state, id, holder))
		}) || survived
	}
	if len(ends) < 4 || ends[0] != "has it" || ends[len(ends)-1] == "has it" {
		t.Errorf("from step to step the holder %q", ends)
	}
}
