package lockfiletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// Holder is another process that holds a lock. Its methods are for the goroutine of the test only.
type Holder struct {
	tb    probetest.TB
	child *probetest.Child
	id    string
	token fence.Token
}

// Held lets another process acquire the lock of the state path. It holds it until it is told to
// release it, is killed, or the test ends.
func Held(tb probetest.TB, path string) *Holder {
	tb.Helper()
	return HeldWith(tb, path, lockfile.Options{})
}

// HeldWith is Held with those options, as far as they can be given to another process: it has no
// use for a Logger, a System and hooks of this one, and the test fails when there are any.
func HeldWith(tb probetest.TB, path string, opts lockfile.Options) *Holder {
	tb.Helper()
	if os.Getenv(childEnv) != "" {
		tb.Fatalf("lockfiletest: TestMain must call probetest.Run(m), and nothing before it")
	}
	given, err := settingsOf(opts)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(given)
	}
	if err != nil {
		tb.Fatalf("lockfiletest: %v", err)
	}
	h := &Holder{tb: tb, child: probetest.Start(tb, holderName, path, string(text))}
	line := h.child.Line()
	if n, _ := fmt.Sscanf(line, "held %s %d", &h.id, &h.token); n != 2 {
		tb.Fatalf("lockfiletest: the other process has no lock: %s "+
			"(does TestMain call probetest.Run?)", line)
	}
	return h
}

// PID returns the number of the process.
func (h *Holder) PID() int { return h.child.PID() }

// ID returns the public name of the tenure: Inspection.LockID.
func (h *Holder) ID() string { return h.id }

// Token returns the fencing token of the tenure.
func (h *Holder) Token() fence.Token { return h.token }

// Check lets the process look whether it still holds the lock, see lockfile.Lock.Check. The error
// matches lockfile.ErrFenced, ErrLost and ErrReleased as there.
func (h *Holder) Check() error {
	h.tb.Helper()
	return understood(h.child.Ask("check"))
}

// WriteState lets the process write the state with lockfile.Lock.WriteFile. With it a test can play
// the owner that was overtaken and wakes up late: the error then matches lockfile.ErrFenced.
func (h *Holder) WriteState(content string) error {
	h.tb.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return understood(h.child.Ask("write " + string(text)))
}

// Release lets the process release the lock, see lockfile.Lock.Release. The process goes on.
func (h *Holder) Release() error {
	h.tb.Helper()
	return understood(h.child.Ask("release"))
}

// Kill kills the process, which cannot do anything about it: its lock is abandoned.
func (h *Holder) Kill() {
	h.tb.Helper()
	h.child.Kill()
}

// childEnv is set in a child of probetest until its TestMain has called probetest.Run.
const childEnv = "PROBETEST_CHILD"

const holderName = "lockfiletest/holder"

func init() { probetest.Register(holderName, holder) }

// settings are the options that can be given to another process.
type settings struct {
	Label             string
	ExpectedUntil     time.Time
	Recovery          lockfile.Recovery
	SharedFilesystem  lockfile.SharedPolicy
	WithoutKernelLock bool
	WaitUnknown       bool
	FreshToken        bool
	Durability        lockfile.Durability
	Mode              fs.FileMode
	GateWait          time.Duration
}

func settingsOf(o lockfile.Options) (settings, error) {
	if o.Logger != nil || o.System != nil || o.OnWaiting != nil || o.OnRecovered != nil ||
		o.OnLost != nil ||
		o.OnBreach != nil {
		return settings{}, errors.New("Options with a Logger, a System or a hook cannot be given " +
			"to another process")
	}
	return settings{o.Label, o.ExpectedUntil, o.Recovery, o.SharedFilesystem, o.WithoutKernelLock,
		o.WaitUnknown, o.FreshToken, o.Durability, o.Mode, o.GateWait}, nil
}

func (s settings) options() lockfile.Options {
	return lockfile.Options{Label: s.Label, ExpectedUntil: s.ExpectedUntil, Recovery: s.Recovery,
		SharedFilesystem: s.SharedFilesystem, WithoutKernelLock: s.WithoutKernelLock,
		WaitUnknown: s.WaitUnknown, FreshToken: s.FreshToken, Durability: s.Durability,
		Mode: s.Mode, GateWait: s.GateWait}
}

// holder is what the other process does. It waits for a lock no longer than a parent waits for a
// line.
func holder(p *probetest.Peer) {
	path := p.Arg(0)
	var given settings
	p.Check(json.Unmarshal([]byte(p.Arg(1)), &given))
	ctx, cancel := context.WithTimeout(context.Background(), probetest.Patience/2)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, path, given.options())
	if err != nil {
		p.Send(oneLine(err))
		p.Wait()
	}
	p.Send(fmt.Sprintf("held %s %d", lock.ID(), lock.Token()))
	for {
		switch verb, rest, _ := strings.Cut(p.Line(), " "); verb {
		case "check":
			p.Send(said(lock.Check()))
		case "release":
			p.Send(said(lock.Release()))
		case "write":
			var content string
			p.Check(json.Unmarshal([]byte(rest), &content))
			p.Send(said(lock.WriteFile(path, []byte(content), 0o600)))
		default:
			p.Fatalf("what is %q?", verb)
		}
	}
}

// sentinels are the errors that keep their meaning on the way between the processes. Those that
// match others come first.
var sentinels = []error{lockfile.ErrUnsure, lockfile.ErrFenced, lockfile.ErrLost,
	lockfile.ErrReleased, lockfile.ErrGateBusy, lockfile.ErrBusy}

// said puts an error into a line: the number of its sentinel, and its text.
func said(err error) string {
	if err == nil {
		return "ok"
	}
	kind := -1
	for i, s := range sentinels {
		if errors.Is(err, s) {
			kind = i
			break
		}
	}
	return fmt.Sprintf("%d %s", kind, oneLine(err))
}

// understood is what said said.
func understood(line string) error {
	if line == "ok" {
		return nil
	}
	var kind int
	number, text, _ := strings.Cut(line, " ")
	if _, err := fmt.Sscan(number, &kind); err != nil || kind >= len(sentinels) {
		return errors.New(line)
	}
	if kind < 0 {
		return errors.New(text)
	}
	return &remoteError{text, sentinels[kind]}
}

// remoteError is an error of the other process.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }
