package lockfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

const (
	recordVersion = 2
	maxWritten    = 2048      // peers in other languages misread records that are not shorter
	maxRead       = 64 << 10  // bytes that are read of a record
	maxExact      = 1 << 53   // integers from here on are not exact in every JSON reader
	maxPIDLinux   = 4_194_304 // PID_MAX_LIMIT of the kernel
	maxLabelled   = 64        // bytes of program and host names in a record
)

// record is the JSON object at S.lock. The order of the fields is the order in the file.
type record struct {
	V            *int64 `json:"v"`
	Lease        string `json:"lease"`
	Owner        string `json:"owner"`
	PID          *int64 `json:"pid"`
	ProcessStart *int64 `json:"processStart"`
	HostID       string `json:"hostId"`
	BootStart    *int64 `json:"bootStart"`
	Fence        *int64 `json:"fence"`
	CreatedAt    string `json:"createdAt"`

	Proof         *proof `json:"proof,omitempty"`
	Program       string `json:"program,omitempty"`
	Host          string `json:"host,omitempty"`
	Label         string `json:"label,omitempty"`
	ExpectedUntil string `json:"expectedUntil,omitempty"`

	created time.Time
}

// proof is what makes a verdict exact.
type proof struct {
	OS         string     `json:"os"`
	Boot       string     `json:"boot,omitempty"`
	Start      string     `json:"start,omitempty"`
	PIDFD      *uint64    `json:"pidfd,omitempty"`
	Serial     *uint64    `json:"serial,omitempty"`
	PIDNS      *uint64    `json:"pidns,omitempty"`
	TimeNS     *uint64    `json:"timens,omitempty"`
	File       *proofFile `json:"file"`
	FS         string     `json:"fs,omitempty"`
	Local      *bool      `json:"local,omitempty"`
	KernelLock string     `json:"kernelLock,omitempty"`
}

// proofFile names the file that carries the record: see identity.FileID.
type proofFile struct {
	FS    string  `json:"fs"`
	ID    string  `json:"id"`
	Inode *uint64 `json:"inode"`
}

// leaseID is the public id of a tenure: the secret itself is never shown.
func leaseID(lease string) string {
	var buf [64]byte
	sum := sha256.Sum256(append(buf[:0], lease...))
	var id [16]byte
	hex.Encode(id[:], sum[:8])
	return string(id[:])
}

// contentID is the public id of a record that cannot be read, so that Break can name it.
func contentID(content []byte, info vfs.Info) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%d\n%d\n", info.Inode, uint32(info.Mode.Type()), len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// newRecord describes the process at some place, and the file that will carry the record.
func newRecord(opts *Options, at *probe.Stand, fs *probe.Filesystem, kind vfs.LockKind, f *fresh,
) *record {
	in, host, self := opts.process(), &at.Host, &at.Self
	now := f.at.UTC().Truncate(time.Millisecond)
	boot := now
	if host.Boot.StartedAt.Known {
		boot = host.Boot.StartedAt.Value
	}
	started := now
	if self.StartedAt.Known {
		started = self.StartedAt.Value
	}
	w := &struct { // all that it points to in one piece
		record                             record
		proof                              proof
		file                               proofFile
		version, pid, started, boot, fence int64
		pidfd, serial, pidns, timens       uint64
		local                              bool
	}{
		version: recordVersion, pid: int64(self.PID), started: epochMilli(started),
		boot: epochMilli(boot), fence: int64(f.token), local: fs.Local,
		pidfd: known(self.PIDFD), serial: known(self.Serial),
		pidns: known(host.Namespaces.PID), timens: known(host.Namespaces.Time),
		file: proofFile{FS: f.file.FS, ID: f.file.ID, Inode: ptr(f.file.Inode)},
	}
	w.proof = proof{
		OS: host.OS, Boot: known(host.Boot.ID), Start: string(known(self.Start)),
		PIDFD: nonZero(&w.pidfd), Serial: nonZero(&w.serial), PIDNS: nonZero(&w.pidns),
		TimeNS: nonZero(&w.timens), File: &w.file, FS: known(fs.Type), Local: &w.local,
		KernelLock: string(kind),
	}
	w.record = record{
		V: &w.version, Lease: string(f.lease[:]), Owner: in.ownerID(), PID: &w.pid,
		ProcessStart: &w.started, HostID: in.hostID(host), BootStart: &w.boot, Fence: &w.fence,
		CreatedAt: formatTime(now), Program: programName(),
		Host: labelled(known(host.Machine.Host)), Label: opts.Label, created: now,
		Proof: &w.proof,
	}
	if !opts.ExpectedUntil.IsZero() {
		w.record.ExpectedUntil = formatTime(opts.ExpectedUntil)
	}
	return &w.record
}

// identity returns who the record names.
func (r *record) identity() identity.Identity {
	id := identity.Identity{
		PID: int(*r.PID), Program: r.Program, Host: r.Host,
		StartedAt: time.UnixMilli(*r.ProcessStart).UTC(),
	}
	if p := r.Proof; p != nil {
		id.OS, id.Boot, id.Start = p.OS, wellFormedBoot(p.OS, p.Boot), probe.Start(p.Start)
		id.PIDFD, id.Serial = or0(p.PIDFD), or0(p.Serial)
		id.PIDNS, id.TimeNS = or0(p.PIDNS), or0(p.TimeNS)
	}
	return id
}

// wellFormedBoot returns a recorded boot id, or "" when no kernel of that system can have said it:
// what is malformed differs from nothing.
func wellFormedBoot(system, boot string) string {
	digits := boot
	switch system {
	case "linux", "freebsd":
	case "darwin":
		if boot != strings.ToUpper(boot) {
			return ""
		}
		digits = strings.ToLower(boot)
	case "windows":
		if digits, ok := strings.CutPrefix(boot, "boottime:"); !ok ||
			!probe.Start("filetime:"+digits).Valid() {
			return ""
		}
		return boot
	default:
		return boot
	}
	if !isUUID(digits) {
		return ""
	}
	return boot
}

// isUUID reports whether s has the form of a UUID in lower case.
func isUUID(s string) bool {
	for i, n := range [...]int{8, 4, 4, 4, 12} {
		part, rest, more := strings.Cut(s, "-")
		if !isHex(part, n) || more != (i < 4) {
			return false
		}
		s = rest
	}
	return true
}

// claim returns what the record says in the words of the verdict table.
func (r *record) claim() identity.Claim {
	c := identity.Claim{
		Form: identity.Legacy, Owner: r.identity(), Since: r.created,
		HostID: r.HostID, ProcessStartMS: *r.ProcessStart, BootStartMS: *r.BootStart,
	}
	if p := r.Proof; p != nil {
		c.Form = identity.WithProof
		c.File = identity.FileID{FS: p.File.FS, ID: p.File.ID, Inode: *p.File.Inode}
		c.KernelLock, c.Local = p.KernelLock, p.Local != nil && *p.Local
	}
	return c
}

// lockKind returns the kind of kernel lock to test for this record.
func (r *record) lockKind() vfs.LockKind {
	if r != nil && r.Proof != nil && r.Proof.KernelLock != "" {
		return vfs.LockKind(r.Proof.KernelLock)
	}
	return vfs.NativeLock()
}

// legacyHostID is the hostId of record-v2 peers: the first 32 hex digits of SHA-256 over host name,
// bar and raw machine id.
func legacyHostID(host probe.Host) string {
	sum := sha256.Sum256([]byte(known(host.Machine.Host) + "|" + host.Machine.Legacy))
	return hex.EncodeToString(sum[:16])
}

// recordHostID is the hostId to write. A process number of another pid namespace than the initial
// one means nothing to a legacy peer outside, which cannot know: a salt makes it see another
// machine and keep its hands off.
func recordHostID(host *probe.Host) string {
	if host.OS != "linux" || host.Namespaces.PIDInitial.Known && host.Namespaces.PIDInitial.Value {
		return legacyHostID(*host)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%d|%s", legacyHostID(*host),
		known(host.Namespaces.PID), known(host.Boot.ID)))
	return hex.EncodeToString(sum[:16])
}

// programName is what this process calls itself in records.
var programName = sync.OnceValue(func() string {
	exe, err := os.Executable()
	if err != nil && len(os.Args) > 0 {
		exe = os.Args[0] // Linux without /proc
	}
	if exe == "" {
		return ""
	}
	return labelled(filepath.Base(exe))
})

// labelled makes a name fit for the record: valid UTF-8, no control characters, bounded.
func labelled(s string) string {
	if isLabel(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	for len(s) > maxLabelled {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// isLabel reports whether s fits as it is.
func isLabel(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return len(s) <= maxLabelled
}

// epochMilli is never negative: a machine without a clock of its own starts in 1970.
func epochMilli(t time.Time) int64 { return max(0, t.UnixMilli()) }

const timeLayout = "2006-01-02T15:04:05.000Z"

// formatTime is t.UTC().Format(timeLayout).
func formatTime(t time.Time) string {
	if !hasPlainYear(t) {
		return t.UTC().Format(timeLayout)
	}
	var b [len(timeLayout)]byte
	putTime(b[:], t)
	return string(b[:])
}

// hasPlainYear reports whether a time is as long as all others in timeLayout.
func hasPlainYear(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

// putTime writes a time with a plain year to b in timeLayout.
func putTime(b []byte, t time.Time) {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	copy(b, timeLayout)
	digits := func(at, width, n int) {
		for i := at + width - 1; i >= at; i-- {
			b[i] = byte('0' + n%10)
			n /= 10
		}
	}
	digits(0, 4, year)
	digits(5, 2, int(month))
	digits(8, 2, day)
	digits(11, 2, hour)
	digits(14, 2, minute)
	digits(17, 2, second)
	digits(20, 3, t.Nanosecond()/int(time.Millisecond))
}

func ptr[T any](v T) *T { return &v }

// nonZero leaves out what is not known, and what not every JSON reader would keep exactly.
func nonZero(n *uint64) *uint64 {
	if *n == 0 || *n >= maxExact {
		return nil
	}
	return n
}

func or0(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

func known[T any](f probe.Fact[T]) T {
	if !f.Known {
		var zero T
		return zero
	}
	return f.Value
}
