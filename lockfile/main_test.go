package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

func TestMain(m *testing.M) { probetest.Run(m) }

func init() { probetest.Register("holder", holder) }

// holder is a child process that acquires the lock of its first argument, tells "held ID FENCE" or
// "failed …", and then does what it is told, a line of answer for each line:
//
//	check        "ok" or the error
//	write TEXT   replaces the state by TEXT: "ok", "lost", "fenced", "unsure" or the error
//	release      "ok" or as for write
//	acquire      acquires again: "held ID FENCE" or the error
//	environ      the environment for a command below, joined by blanks
func holder(p *probetest.Peer) {
	path := p.Arg(0)
	var lock *lockfile.Lock
	acquire := func() {
		var err error
		lock, err = lockfile.Acquire(context.Background(), path, lockfile.Options{})
		if err != nil {
			p.Send("failed " + oneLine(err))
			return
		}
		p.Send(fmt.Sprintf("held %s %d", lock.ID(), lock.Token()))
	}
	acquire()
	for {
		verb, rest, _ := strings.Cut(p.Line(), " ")
		switch verb {
		case "check":
			p.Send(outcome(lock.Check()))
		case "write":
			p.Send(outcome(lock.WriteFile(path, []byte(rest), 0o600)))
		case "release":
			p.Send(outcome(lock.Release()))
		case "acquire":
			acquire()
		case "environ":
			p.Send(strings.Join(lock.Environ(), " "))
		default:
			p.Send("what is " + verb + "?")
		}
	}
}

// outcome names the errors that tests look for.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, lockfile.ErrUnsure):
		return "unsure"
	case errors.Is(err, lockfile.ErrFenced):
		return "fenced"
	case errors.Is(err, lockfile.ErrLost):
		return "lost"
	case errors.Is(err, lockfile.ErrReleased):
		return "released"
	default:
		return oneLine(err)
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }
