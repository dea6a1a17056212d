package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/probate-dev/probate/internal/strictjson"
	"github.com/probate-dev/probate/probe"
)

// Version is the version of the text and JSON forms that this package writes.
const Version = 1

var (
	// ErrNewer is returned when a stored identity has a form that this version does not know.
	ErrNewer = errors.New("identity in a newer format")
	// ErrMalformed is returned when a stored identity is not well-formed.
	ErrMalformed = errors.New("malformed identity")
)

// maxExact is the first integer that JSON readers with 64-bit floats may not keep exactly.
const maxExact = 1 << 53

// wire is the JSON form. Pointers tell a missing number from zero.
type wire struct {
	V         *int    `json:"v"`
	OS        string  `json:"os,omitempty"`
	PID       *int64  `json:"pid"`
	Boot      string  `json:"boot,omitempty"`
	Start     string  `json:"start,omitempty"`
	PIDFD     *uint64 `json:"pidfd,omitempty"`
	Serial    *uint64 `json:"serial,omitempty"`
	PIDNS     *uint64 `json:"pidns,omitempty"`
	TimeNS    *uint64 `json:"timens,omitempty"`
	Program   string  `json:"program,omitempty"`
	Host      string  `json:"host,omitempty"`
	StartedAt string  `json:"startedAt,omitempty"`
}

// MarshalJSON writes the versioned JSON form, one object. An invalid identity is an error.
func (id Identity) MarshalJSON() ([]byte, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	version, pid := Version, int64(id.PID)
	return json.Marshal(wire{
		V: &version, OS: id.OS, PID: &pid, Boot: id.Boot, Start: string(id.Start),
		PIDFD: some(id.PIDFD), Serial: some(id.Serial), PIDNS: some(id.PIDNS),
		TimeNS: some(id.TimeNS), Program: id.Program, Host: id.Host,
		StartedAt: formatTime(id.StartedAt),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote, strictly. Errors match ErrNewer or ErrMalformed.
func (id *Identity) UnmarshalJSON(data []byte) error {
	var head struct { // a newer version may have other types under the same keys
		V *int `json:"v"`
	}
	if err := strictjson.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if head.V == nil {
		return fmt.Errorf("%w: no version", ErrMalformed)
	}
	if err := checkVersion(*head.V); err != nil {
		return err
	}
	var w wire
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if w.PID == nil {
		return fmt.Errorf("%w: no pid", ErrMalformed)
	}
	started, err := parseTime(w.StartedAt)
	if err != nil {
		return err
	}
	got := Identity{
		OS: w.OS, PID: int(*w.PID), Boot: w.Boot, Start: probe.Start(w.Start),
		PIDFD: or0(w.PIDFD), Serial: or0(w.Serial), PIDNS: or0(w.PIDNS), TimeNS: or0(w.TimeNS),
		Program: w.Program, Host: w.Host, StartedAt: started,
	}
	if int64(got.PID) != *w.PID {
		return fmt.Errorf("%w: pid %d", ErrMalformed, *w.PID)
	}
	if err := got.validate(); err != nil {
		return err
	}
	*id = got
	return nil
}

func checkVersion(v int) error {
	switch {
	case v < 1:
		return fmt.Errorf("%w: version %d", ErrMalformed, v)
	case v != Version:
		return fmt.Errorf("%w: version %d, known is %d", ErrNewer, v, Version)
	}
	return nil
}

// textPrefix stands before the fields of the text form, with the version.
const textPrefix = "probate-identity:"

// MarshalText writes the versioned text form: one line, no blanks, fit for a log or a header.
//
//	probate-identity:1;os=linux;pid=4711;boot=…;start=ticks:15234;pidfd=2042;pidns=4026531836;…
//
// Values are percent-encoded where they hold anything but letters, digits and -._~:
func (id Identity) MarshalText() ([]byte, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(textPrefix + strconv.Itoa(Version))
	for _, f := range id.textFields() {
		if f.value != "" {
			b.WriteString(";" + f.name + "=" + escape(f.value))
		}
	}
	return []byte(b.String()), nil
}

// String returns the text form, or says that the identity is malformed.
func (id Identity) String() string {
	text, err := id.MarshalText()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(text)
}

type textField struct{ name, value string }

func (id Identity) textFields() []textField {
	return []textField{
		{"os", id.OS}, {"pid", strconv.Itoa(id.PID)}, {"boot", id.Boot},
		{"start", string(id.Start)}, {"pidfd", nonZero(id.PIDFD)}, {"serial", nonZero(id.Serial)},
		{"pidns", nonZero(id.PIDNS)}, {"timens", nonZero(id.TimeNS)}, {"program", id.Program},
		{"host", id.Host},
		{"startedAt", formatTime(id.StartedAt)},
	}
}

// UnmarshalText reads what MarshalText wrote. Unknown fields are ignored, repeated ones refused.
// Errors match ErrNewer or ErrMalformed.
func (id *Identity) UnmarshalText(text []byte) error {
	rest, ok := strings.CutPrefix(string(text), textPrefix)
	if !ok {
		return fmt.Errorf("%w: it does not begin with %q", ErrMalformed, textPrefix)
	}
	parts := strings.Split(rest, ";")
	version, err := decimal(parts[0], math.MaxInt)
	if err != nil {
		return fmt.Errorf("%w: version %q", ErrMalformed, parts[0])
	}
	if err := checkVersion(int(version)); err != nil {
		return err
	}
	fields := map[string]string{}
	for _, p := range parts[1:] {
		name, escaped, ok := strings.Cut(p, "=")
		value, err := url.PathUnescape(escaped)
		if _, twice := fields[name]; !ok || name == "" || err != nil || twice || !visible(p) {
			return fmt.Errorf("%w: field %q", ErrMalformed, p)
		}
		fields[name] = value
	}
	var got Identity
	pid, err := decimal(fields["pid"], math.MaxInt)
	if err != nil {
		return fmt.Errorf("%w: pid %q", ErrMalformed, fields["pid"])
	}
	got.PID = int(pid)
	for name, to := range map[string]*uint64{
		"pidfd": &got.PIDFD, "serial": &got.Serial, "pidns": &got.PIDNS, "timens": &got.TimeNS,
	} {
		if s, there := fields[name]; there {
			if *to, err = decimal(s, maxExact-1); err != nil || *to == 0 {
				return fmt.Errorf("%w: %s %q", ErrMalformed, name, s)
			}
		}
	}
	if got.StartedAt, err = parseTime(fields["startedAt"]); err != nil {
		return err
	}
	got.OS, got.Boot, got.Start = fields["os"], fields["boot"], probe.Start(fields["start"])
	got.Program, got.Host = fields["program"], fields["host"]
	if err := got.validate(); err != nil {
		return err
	}
	*id = got
	return nil
}

// validate refuses what could not have been written by this package.
func (id Identity) validate() error {
	switch {
	case id.PID <= 0 || int64(id.PID) > 1<<32-1:
		return fmt.Errorf("%w: pid %d", ErrMalformed, id.PID)
	case id.OS == "":
		return fmt.Errorf("%w: no operating system", ErrMalformed)
	case id.Start != "" && !id.Start.Valid():
		return fmt.Errorf("%w: start %q", ErrMalformed, id.Start)
	case max(id.PIDFD, id.Serial, id.PIDNS, id.TimeNS) >= maxExact:
		return fmt.Errorf("%w: a number of 2^53 or more", ErrMalformed)
	case id.StartedAt.UTC().Year() < 1 || id.StartedAt.UTC().Year() > 9999:
		return fmt.Errorf("%w: startedAt in the year %d", ErrMalformed, id.StartedAt.UTC().Year())
	}
	for _, s := range []string{id.OS, id.Boot, id.Program, id.Host} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%w: %q is not valid UTF-8", ErrMalformed, s)
		}
	}
	return nil
}

// decimal reads a number without sign, leading zeros or anything else that has two spellings.
func decimal(s string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && (n > most || strconv.FormatUint(n, 10) != s) {
		err = strconv.ErrRange
	}
	return n, err
}

// visible reports whether s holds nothing but visible ASCII.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func some(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

func or0(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

func nonZero(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: startedAt %q", ErrMalformed, s)
	}
	return t.UTC().Truncate(time.Millisecond), nil
}

// escape percent-encodes all but unreserved characters and the colon of start values.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("-._~:", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
