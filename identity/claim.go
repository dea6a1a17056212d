package identity

import (
	"time"

	"github.com/probate-dev/probate/probe"
)

// Form says what kind of record a claim comes from.
type Form int

const (
	Unusable  Form = iota // there is something, but nothing that can be judged: Claim.Flaw
	NoRecord              // there is no record
	WithProof             // a record with the exact fields that this toolkit writes
	Legacy                // a record-v2 by a program in another language: coarse values only
	Torn                  // empty, all NUL or cut short: Claim.Flaw says which
	Stamp                 // an identity on its own, without a lock file
)

// Claim is what a record says about its owner and about itself.
type Claim struct {
	Form  Form
	Flaw  Reason // why the record is Unusable or Torn
	Owner Identity
	Since time.Time // when the record was written, by its writer's clock; for people

	// WithProof only.
	File       FileID // the file that carried the record when it was written
	KernelLock string // kind of the kernel lock that the owner took on it; "" for none
	Local      bool   // the owner saw a local filesystem

	// Legacy only: milliseconds since the epoch, as record-v2 peers estimate them.
	HostID         string
	ProcessStartMS int64
	BootStartMS    int64
}

// FileID names a file in a way that outlives remounts.
type FileID struct {
	FS    string `json:"fs"`    // filesystem type
	ID    string `json:"id"`    // filesystem id
	Inode uint64 `json:"inode"` // 0: not known
}

// LockState is what a test of the record's kernel lock said. The zero value is "could not be
// tested".
type LockState int

const (
	LockUntested LockState = iota // not tested, or the test failed
	LockHeld                      // an owner holds it
	LockFree                      // nobody holds it
)

// Observation is what a reader sees now. Decide needs nothing else.
type Observation struct {
	Host       probe.Host
	HostID     string           // this machine's, as record-v2 peers compute it
	Process    probe.Process    // what has the recorded number now; zero where it must not be asked
	Nested     probe.Nested     // legacy records: who has the number in a pid namespace below
	Filesystem probe.Filesystem // where the record lies
	File       FileID           // the file now at the record's path
	KernelLock LockState        // of that file, of the kind that the record names
	LockErr    error            // why it could not be tested
	Openers    probe.Openers    // torn records: who has the file open
	Scanned    bool             // Openers was asked
	Alone      bool             // torn records: the kernel says that nobody else has the file open
	Opened     bool             // torn records: the kernel says that somebody else has it open
	Untrusted  string           // why no owner would have left the file like this, or ""
}

// Policy is what the caller accepts.
type Policy struct {
	// SharedSameBoot accepts identity evidence on a filesystem that other machines may mount, when
	// boot and pid namespace are the reader's own.
	SharedSameBoot bool
}
