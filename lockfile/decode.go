package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/strictjson"
	"github.com/probate-dev/probate/probe"
)

// flaw says why a file's content is not a record that can be judged.
type flaw struct {
	reason identity.Reason
	detail error // nil where the reason says it all
	newer  newerRecord
}

// torn reports whether the content may be what a crash left of a record being written.
func (f *flaw) torn() bool {
	switch f.reason {
	case identity.RecordEmpty, identity.RecordNUL, identity.RecordCutShort:
		return true
	}
	return false
}

// unread reports whether there may be nothing wrong with the record: it could not be read.
func (f *flaw) unread() bool {
	return f != nil && (f.reason == identity.RecordUnreadable || f.reason == identity.NotPermitted)
}

// decode reads the content of a lock file. Exactly one of its results is nil.
func decode(content []byte) (*record, *flaw) {
	if len(content) > maxRead {
		return nil, &flaw{reason: identity.RecordTooLarge}
	}
	r, ok := decodeCanonical(content)
	if !ok {
		r = &record{}
		err := strictjson.Unmarshal(content, r)
		if err != nil || r.V == nil || *r.V != recordVersion {
			return nil, classify(content, err)
		}
	} else if *r.V != recordVersion {
		return nil, classify(content, nil)
	}
	if err := r.validate(); err != nil {
		return nil, &flaw{reason: identity.RecordDamaged, detail: err}
	}
	return r, nil
}

// classify says what content is that is no record of this version. err is what the strict decoder
// said, nil when it only is of another version.
func classify(content []byte, err error) *flaw {
	switch {
	case len(content) == 0:
		return &flaw{reason: identity.RecordEmpty}
	case len(bytes.Trim(content, "\x00")) == 0:
		return &flaw{reason: identity.RecordNUL}
	case isLeaseV1(content):
		return &flaw{reason: identity.RecordLeaseV1}
	case isCutShort(content):
		return &flaw{reason: identity.RecordCutShort}
	case errors.Is(err, strictjson.ErrNotObject):
		return &flaw{reason: identity.RecordForeign, detail: err}
	}
	var version struct {
		V any `json:"v"`
	}
	if e := strictjson.Unmarshal(content, &version); e != nil {
		return &flaw{reason: identity.RecordDamaged, detail: e}
	}
	switch v, number := version.V.(float64); {
	case version.V == nil:
		return &flaw{reason: identity.RecordForeign, detail: errors.New("it has no version")}
	case !number || v != math.Trunc(v):
		return &flaw{reason: identity.RecordDamaged,
			detail: fmt.Errorf("its version is %v", version.V)}
	case v != recordVersion:
		return &flaw{identity.RecordNewer,
			fmt.Errorf("its version is %.0f, known is %d", v, recordVersion), readNewer(content)}
	}
	return &flaw{reason: identity.RecordDamaged, detail: err}
}

// isLeaseV1 recognizes the older format: 48 hex digits and nothing else.
func isLeaseV1(content []byte) bool {
	return isHex(strings.TrimRight(string(content), "\r\n"), 48)
}

// isCutShort recognizes the beginning of a record: an object that begins with "v":2, as every
// writer of the format does, and ends before it is closed, perhaps in NUL bytes that were never
// written.
func isCutShort(content []byte) bool {
	const head = `{"v":2,`
	cut := bytes.TrimRight(content, "\x00")
	compact := bytes.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, cut[:min(len(cut), 64)])
	n := min(len(compact), len(head))
	if n == 0 || !bytes.Equal(compact[:n], []byte(head[:n])) {
		return false
	}
	// The cut may have split a character, but only the last one: anything else is damage.
	for i := 1; i < utf8.UTFMax && i <= len(cut); i++ {
		if last := cut[len(cut)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				cut = cut[:len(cut)-i]
			}
			break
		}
	}
	var r record
	return errors.Is(strictjson.Unmarshal(cut, &r), strictjson.ErrCutShort)
}

// validate checks presence and range of every field.
func (r *record) validate() error {
	switch {
	case !isHex(r.Lease, 48):
		return errors.New("lease is not 48 lower-case hex digits")
	case !isHex(r.Owner, 16):
		return errors.New("owner is not 16 lower-case hex digits")
	case r.PID == nil:
		return errors.New("pid is missing")
	case *r.PID < 1 || *r.PID > 1<<31-1:
		return fmt.Errorf("pid %d is not a process number", *r.PID)
	case r.linux() && *r.PID > maxPIDLinux:
		return fmt.Errorf("pid %d is larger than any process number on Linux", *r.PID)
	case !isHex(r.HostID, 32):
		return errors.New("hostId is not 32 lower-case hex digits")
	}
	for _, field := range [...]struct {
		name string
		n    *int64
	}{{"processStart", r.ProcessStart}, {"bootStart", r.BootStart}, {"fence", r.Fence}} {
		if field.n == nil {
			return errors.New(field.name + " is missing")
		}
		if *field.n < 0 || *field.n >= maxExact {
			return fmt.Errorf("%s %d is out of range", field.name, *field.n)
		}
	}
	var err error
	if r.created, err = time.Parse(time.RFC3339, r.CreatedAt); err != nil {
		return fmt.Errorf("createdAt %q is not a time", r.CreatedAt)
	}
	if r.ExpectedUntil != "" {
		if _, err := time.Parse(time.RFC3339, r.ExpectedUntil); err != nil {
			return fmt.Errorf("expectedUntil %q is not a time", r.ExpectedUntil)
		}
	}
	return r.Proof.validate()
}

// linux reports whether the record was written on Linux, as far as it says so: a record without
// proof can only be judged as one of this system.
func (r *record) linux() bool {
	if r.Proof != nil {
		return r.Proof.OS == "linux"
	}
	return runtime.GOOS == "linux"
}

// validate: os and file are required, anything else that is missing only takes away the evidence
// that it would give. What is there must be well-formed.
func (p *proof) validate() error {
	switch {
	case p == nil:
		return nil
	case p.OS == "":
		return errors.New("proof.os is missing")
	case p.File == nil || p.File.Inode == nil || *p.File.Inode == 0:
		return errors.New("proof.file is missing or incomplete")
	case p.Start != "" && !probe.Start(p.Start).Valid():
		return fmt.Errorf("proof.start %q is not a start value", p.Start)
	}
	for _, field := range [...]struct {
		name string
		n    *uint64
	}{{"pidfd", p.PIDFD}, {"serial", p.Serial}, {"pidns", p.PIDNS}, {"timens", p.TimeNS}} {
		if n := field.n; n != nil && (*n == 0 || *n >= maxExact) {
			return fmt.Errorf("proof.%s %d is out of range", field.name, *n)
		}
	}
	return nil
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range n {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
