package identity

import (
	"fmt"
	"strings"
)

// Verdict says whether an owner is there. The zero value is Unknown.
type Verdict int

const (
	Unknown Verdict = iota // cannot be proven from here; never taken over
	Alive                  // some sign of life
	Gone                   // proven: the owner does not exist any more
	Free                   // there is no record, so nobody to judge (only for lock files)
)

// String returns "unknown", "alive", "gone" or "free", the words used in JSON, docs and help.
func (v Verdict) String() string {
	switch v {
	case Alive:
		return "alive"
	case Gone:
		return "gone"
	case Free:
		return "free"
	default:
		return "unknown"
	}
}

// MarshalText writes the word of String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the words of String.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, w := range []Verdict{Unknown, Alive, Gone, Free} {
		if w.String() == string(text) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("identity: %q is not a verdict (alive, gone, unknown, free)", text)
}

// Reason is the code of a finding: stable, lower case, made for programs.
type Reason string

// Reasons of alive.
const (
	KernelLockHeld Reason = "kernel-lock-held" // the kernel lock that only owners take is held
	ProcessRunning Reason = "process-running"  // the recorded process exists and has not exited
)

// Reasons of gone.
const (
	MachineRestarted   Reason = "machine-restarted"    // kernel lock free, and another boot since
	NoSuchProcess      Reason = "no-such-process"      // the kernel knows no such process
	PIDReused          Reason = "pid-reused"           // another process has the number
	ProcessExited      Reason = "process-exited"       // it has exited, and was not reaped yet
	KernelLockReleased Reason = "kernel-lock-released" // the kernel lock of this very file is free
	RecordOrphaned     Reason = "record-orphaned"      // never written whole; nobody has it open
)

// Reasons of unknown that lie in the record.
const (
	RecordNotRegular Reason = "record-not-regular" // a link, directory, FIFO, socket or device
	RecordTooLarge   Reason = "record-too-large"   // over 64 KiB
	RecordNewer      Reason = "record-newer"       // a format that this version does not know
	RecordLeaseV1    Reason = "record-lease-v1"    // 48 hex digits: the older, without an owner
	RecordUntrusted  Reason = "record-untrusted"   // owned or writable by somebody who should not
	RecordDamaged    Reason = "record-damaged"     // version 2, but not as the format says
	RecordForeign    Reason = "record-foreign"     // not written by this tool or its peers
	RecordEmpty      Reason = "record-empty"       // zero bytes
	RecordNUL        Reason = "record-nul"         // only NUL bytes: a write lost in a power cut
	RecordCutShort   Reason = "record-cut-short"   // the beginning of a record
	RecordUnreadable Reason = "record-unreadable"  // it could not be read
	RecordChanging   Reason = "record-changing"    // replaced again and again while looked at
)

// Reasons of unknown that lie in what could be found out.
const (
	SharedFilesystem     Reason = "shared-filesystem"      // other machines may hold the lock
	OtherBoot            Reason = "other-boot"             // written under another boot
	OtherPIDNamespace    Reason = "other-pid-namespace"    // the number means another process here
	OtherTimeNamespace   Reason = "other-time-namespace"   // the start value reads differently here
	OtherOS              Reason = "other-os"               // written on another operating system
	OtherMachine         Reason = "other-machine"          // legacy record with another host id
	NotPermitted         Reason = "not-permitted"          // the record may not be read
	StartUnreadable      Reason = "start-unreadable"       // start not known on one side
	BootUnreadable       Reason = "boot-unreadable"        // no genuine boot id on one side
	NamespaceUnreadable  Reason = "namespace-unreadable"   // namespace not known on one side
	NamespaceUnrecorded  Reason = "namespace-unrecorded"   // legacy record: no namespace in it
	ProcessUnreadable    Reason = "process-unreadable"     // the kernel did not say
	KernelLockUnreadable Reason = "kernel-lock-unreadable" // it could not be tested
	LegacyAmbiguous      Reason = "legacy-ambiguous"       // coarse values fit neither way
	NothingRecorded      Reason = "nothing-recorded"       // an empty identity
)

// Evidence is one thing that was looked at.
type Evidence struct {
	Sentence string `json:"sentence"`           // for people
	Source   string `json:"source,omitempty"`   // where it was read
	Recorded string `json:"recorded,omitempty"` // what the record says
	Observed string `json:"observed,omitempty"` // what was seen
	Err      string `json:"error,omitempty"`    // why it could not be read
}

// Finding is a verdict with its reason and all its evidence. The zero Finding is unknown.
type Finding struct {
	Verdict  Verdict    `json:"verdict"`
	Reason   Reason     `json:"reason"`
	Sentence string     `json:"sentence"` // for people, without the verdict
	Evidence []Evidence `json:"evidence"`
}

// String returns "alive: process 4711 (importer) is running".
func (f Finding) String() string {
	if f.Sentence == "" {
		return strings.TrimSuffix(f.Verdict.String()+": "+string(f.Reason), ": ")
	}
	return f.Verdict.String() + ": " + f.Sentence
}
