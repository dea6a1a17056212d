package probetest_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	probetest.Register("echo", func(p *probetest.Peer) {
		p.SendJSON(p.Args())
		for {
			switch line := p.Line(); line {
			case "return":
				return
			case "exit 7":
				os.Exit(7)
			case "fatal":
				p.Check(errors.New("this message is part of a test"))
			default:
				p.Send(line)
			}
		}
	})
	probetest.Register("parent", func(p *probetest.Peer) {
		child := probetest.Start(p, "echo")
		child.Line()
		p.Send(strconv.Itoa(child.PID()))
		p.Line()
		p.Send("returns") // and its child ends with it
	})
}

func TestMain(m *testing.M) { probetest.Run(m) }

func TestChild(t *testing.T) {
	c := probetest.Start(t, "echo", "a b", "", "ü")
	var args []string
	c.JSON(&args)
	if fmt.Sprintf("%q", args) != `["a b" "" "ü"]` {
		t.Errorf("arguments: %q", args)
	}
	if got := c.Ask("hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	c.Send("")
	c.Expect("")
	c.Send("last words")
	c.Send("return")
	if code := c.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.Expect("last words") // also after the end
	if line, ok := c.Next(); ok {
		t.Errorf("and then %q", line)
	}
}

func TestEnds(t *testing.T) {
	for line, want := range map[string]int{"return": 0, "exit 7": 7, "fatal": 1} {
		c := probetest.Start(t, "echo")
		c.Line()
		c.Send(line)
		if code := c.Wait(); code != want {
			t.Errorf("%s: exit code %d, want %d", line, code, want)
		}
	}
	c := probetest.Start(t, "echo")
	c.Close()
	c = probetest.Start(t, "echo")
	c.Kill()
	c.Kill() // once more does no harm
	if code := c.Wait(); code != -1 && code != 1 {
		t.Errorf("killed: exit code %d", code)
	}
	c = probetest.Start(t, "echo")
	c.KillNoReap()
}

// recorder is a test that fails without ending the real one.
type recorder struct {
	testing.TB
	failed string
}

type stop struct{}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	panic(stop{})
}

func TestFailures(t *testing.T) {
	for want, run := range map[string]func(*probetest.Child){
		`instead of "b"`:     func(c *probetest.Child) { c.Send("a"); c.Expect("b") },
		"ended without":      func(c *probetest.Child) { c.Send("return"); c.Line() },
		"invalid character":  func(c *probetest.Child) { c.Send("a"); c.JSON(new(int)) },
		"cannot send \"on\"": func(c *probetest.Child) { c.Kill(); c.Send("on") },
	} {
		r := &recorder{TB: t}
		c := probetest.Start(r, "echo")
		c.Line()
		func() {
			defer func() {
				if e := recover(); e != nil && e != (stop{}) {
					panic(e)
				}
			}()
			run(c)
		}()
		if !strings.Contains(r.failed, want) {
			t.Errorf("want %q, got %q", want, r.failed)
		}
	}
}

func TestSystem(t *testing.T) {
	s := probetest.New()
	if p := s.Process(probetest.SelfPID); p.Presence != probe.Running || p.Start != s.Self().Start {
		t.Errorf("self: %+v", p)
	}
	if p := s.Process(7); p.Presence != probe.Missing || p.Start.Known || p.Start.Err == nil {
		t.Errorf("not listed: %+v", p)
	}
	s.Add(probetest.Process(7, 100))
	if p := s.Process(7); p.Presence != probe.Running || p.Start.Value != "ticks:100" {
		t.Errorf("listed: %+v", p)
	}
	s.Remove(7)
	if p := s.Process(7); p.Presence != probe.Missing {
		t.Errorf("removed: %+v", p)
	}
	if asked := fmt.Sprint(s.Asked()); asked != "[1000 7 7 7]" {
		t.Errorf("asked: %v", asked)
	}
	why := errors.New("hidden")
	if p := probetest.Absent(7, probe.PresenceUnknown, why); p.Readings[0].Err != "hidden" ||
		p.Start.Err != why {
		t.Errorf("absent: %+v", p)
	}
	s.OpenersAnswer = probe.Openers{Found: []probe.Opener{{PID: 7}}}
	s.NestedAnswer = map[int]probe.Nested{7: {Incomplete: why}}
	if o := s.Openers(0); len(o.Found) != 1 || s.Nested(7).Incomplete != why ||
		s.Nested(8).Incomplete != nil {
		t.Errorf("openers %+v", o)
	}
	if fs := s.Filesystem(0); !fs.Local || !fs.ID.Known {
		t.Errorf("filesystem %+v", fs)
	}
	if h := s.Host(); !h.Boot.ID.Known || h.Boot.ID.Value != probetest.BootID {
		t.Errorf("host %+v", h)
	}
	// The functions may use the system.
	s.OnProcess = func(pid int) probe.Process { return s.Self() }
	s.OnFilesystem = func(uintptr) probe.Filesystem { s.Host(); return probe.Filesystem{} }
	s.OnOpeners = func(uintptr) probe.Openers { s.Self(); return probe.Openers{} }
	s.OnNested = func(int) probe.Nested { s.Self(); return probe.Nested{} }
	if s.Process(7).PID != probetest.SelfPID || s.Filesystem(0).Local ||
		s.Openers(0).Found != nil ||
		s.Nested(7).Incomplete != nil {
		t.Error("the functions do not win")
	}
}

func TestSystemConcurrently(t *testing.T) {
	s := probetest.New()
	var done sync.WaitGroup
	for i := range 4 {
		done.Go(func() {
			for range 100 {
				s.Add(probetest.Process(10+i, 1))
				s.Process(10 + i)
				s.Change(func(s *probetest.System) { s.FS.Local = !s.FS.Local })
				s.Filesystem(0)
				s.Self()
				s.Host()
				s.Remove(10 + i)
			}
		})
	}
	done.Wait()
}
