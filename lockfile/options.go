package lockfile

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Options say how to acquire and look. The zero value is right for most uses. OnWaiting and
// OnRecovered are called on the caller's goroutine, OnLost and OnBreach on one of their own.
type Options struct {
	// Label is a text for people who look at the lock ("nightly backup"): at most 200 characters,
	// no control characters. It stands in the record for everybody who may read it.
	Label string
	// ExpectedUntil is shown to people who look at the lock. It is never evidence.
	ExpectedUntil time.Time

	// Recovery says whether a lock whose owner is provably gone is taken over.
	Recovery Recovery
	// SharedFilesystem says what counts on a filesystem that other machines may mount.
	SharedFilesystem SharedPolicy
	// WithoutKernelLock accepts a filesystem that has no kernel locks: exclusion then rests on the
	// exclusive creation of the record alone, a death is only proven through the process number,
	// and a commit is checked but not one step with takeovers. The record says so.
	WithoutKernelLock bool
	// WaitUnknown makes Acquire wait for a lock that cannot be judged, as it waits for a living
	// owner. Without it such a lock is refused after a few looks. On a filesystem that can neither
	// link nor rename without replacing, a record is empty for a moment: set it there.
	WaitUnknown bool

	// FreshToken raises the fence for this tenure, durably, before the lock is returned, so that
	// Lock.Token also fences off writes of earlier tenures that were released and are still under
	// way to a resource elsewhere. Without it the fence rises at takeovers and breaks only.
	FreshToken bool
	// Durability says when the record is flushed.
	Durability Durability
	// Mode is the permission of the record, 0600 when zero. Whoever may not read it cannot judge
	// it. A record that others than its owner may write, beyond this mode and that of the fence, is
	// not trusted. A new fence and log get it too, besides the mode of the state.
	Mode fs.FileMode
	// GateWait bounds how long a commit, a release or a takeover waits for the gate when another
	// process stays in it; 10 s when zero.
	GateWait time.Duration

	// Logger gets what is worth telling and has no hook of its own: repaired fences, breaches,
	// failed sweeps. nil: nothing is logged. The secret lease is never logged.
	Logger *slog.Logger
	// OnWaiting is called when Acquire begins to wait, and again when it waits for another owner or
	// for another reason.
	OnWaiting func(Inspection)
	// OnRecovered is called after a lock was taken over.
	OnRecovered func(Recovered)
	// OnLost is called once, on a goroutine of its own, when the lock is found lost.
	OnLost func(error)
	// OnBreach is called, on a goroutine of its own, when the lock was lost and a record-v2 peer
	// that ignores the gate has left traces of having taken it.
	OnBreach func(Breach)

	// System is the operating system that facts are read from; nil is the real one. For tests, see
	// package probetest.
	System probe.System

	files vfs.FS   // nil is the real one
	in    *process // nil is the one that this program runs in
}

// Recovery says whether a lock whose owner is provably gone is taken over. The environment variable
// PROBATE_RECOVERY=off switches every takeover of the whole process off,
// those of Recover too.
type Recovery int

const (
	// RecoverGone takes over when the verdict is gone, and never otherwise.
	RecoverGone Recovery = iota
	// RecoverNever makes Acquire leave abandoned locks alone. Recover and Break still work.
	RecoverNever
)

// SharedPolicy says what counts on a filesystem that other machines may mount.
type SharedPolicy int

const (
	// SharedUnknown: nobody on such a filesystem is provably gone.
	SharedUnknown SharedPolicy = iota
	// SharedSameBoot accepts proof about a process of the reader's own boot and pid namespace. The
	// caller knows that equal boot ids mean one machine: no clones of running virtual machines.
	SharedSameBoot
)

// Durability says when the record is flushed. A lock is worth nothing after a power cut; what
// counts is that a torn record does not need a person. Fence and log are always flushed.
type Durability int

const (
	// FlushLater flushes the record in the background once a tenure has lasted a few milliseconds,
	// on a local filesystem, and before it is published elsewhere.
	FlushLater Durability = iota
	// FlushFirst flushes the record, and the directory, before Acquire returns.
	FlushFirst
	// FlushNever leaves the record to the system, and makes WriteFile and WriteFrom atomic but not
	// durable: for caches and tests.
	FlushNever
)

const (
	defaultMode     fs.FileMode = 0o600
	defaultGateWait             = 10 * time.Second
	maxLabel                    = 200 // characters
	recoveryEnv                 = "PROBATE_RECOVERY"
)

// validate refuses options that mean nothing, naming field and value.
func (o *Options) validate() error {
	if n := utf8.RuneCountInString(o.Label); n > maxLabel {
		return fmt.Errorf("Options.Label has %d characters, at most %d are allowed", n, maxLabel)
	}
	if !utf8.ValidString(o.Label) {
		return fmt.Errorf("Options.Label %q is not valid UTF-8", o.Label)
	}
	for _, r := range o.Label {
		if unicode.IsControl(r) {
			return fmt.Errorf("Options.Label %q has the control character %q", o.Label, r)
		}
	}
	if o.Mode&^fs.ModePerm != 0 || o.Mode != 0 && o.Mode&0o600 != 0o600 {
		return fmt.Errorf(
			"Options.Mode %#o must be permission bits with 0600 among them",
			uint32(o.Mode),
		)
	}
	if y := o.ExpectedUntil.UTC().Year(); y < 1 || y > 9999 {
		return fmt.Errorf("Options.ExpectedUntil is in the year %d, which a record cannot hold", y)
	}
	if o.GateWait < 0 {
		return fmt.Errorf("Options.GateWait %v is negative", o.GateWait)
	}
	for _, v := range [...]struct {
		name       string
		value, max int
	}{
		{"Recovery", int(o.Recovery), int(RecoverNever)},
		{"SharedFilesystem", int(o.SharedFilesystem), int(SharedSameBoot)},
		{"Durability", int(o.Durability), int(FlushNever)},
	} {
		if v.value < 0 || v.value > v.max {
			return fmt.Errorf("the value %d of Options.%s means nothing", v.value, v.name)
		}
	}
	return nil
}

func (o *Options) mode() fs.FileMode {
	if o.Mode == 0 {
		return defaultMode
	}
	return o.Mode
}

func (o *Options) gateWait() time.Duration {
	if o.GateWait == 0 {
		return defaultGateWait
	}
	return o.GateWait
}

func (o *Options) system() probe.System {
	if o.System == nil {
		return probe.Real()
	}
	return o.System
}

func (o *Options) fileSystem() vfs.FS {
	if o.files == nil {
		return vfs.OS()
	}
	return o.files
}

func (o *Options) policy() identity.Policy {
	return identity.Policy{SharedSameBoot: o.SharedFilesystem == SharedSameBoot}
}

// mayRecover returns why takeovers are switched off, or "".
func (o *Options) mayRecover() string {
	if o.Recovery == RecoverNever {
		return "recovery is switched off by Options.Recovery"
	}
	return recoveryIsOff()
}

// recoveryIsOff returns why takeovers are switched off for the whole process, or "".
func recoveryIsOff() string {
	if os.Getenv(recoveryEnv) == "off" {
		return "recovery is switched off by " + recoveryEnv + "=off"
	}
	return ""
}

func (o *Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
