package identity_test

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
)

// goldens are the identities in testdata/identity-v1.*, one a line. The files are never edited:
// what was written once must be read for ever.
func goldens() []identity.Identity {
	ids := []identity.Identity{
		{
			OS: "linux", PID: 4711, Boot: "5e1f3c0a-7a53-4c6d-9a40-1b1f8f3f3f10",
			Start: "ticks:15234", PIDFD: 2042, PIDNS: 4026531836, TimeNS: 4026531834,
			Program: "importer", Host: "build-7",
			StartedAt: time.Date(2026, 11, 30, 6, 39, 27, 914e6, time.UTC),
		},
		{OS: "plan9", PID: 1},
		{
			OS: "darwin", PID: 99999, Boot: "7D0A1B5E-6C0F-4E53-8A0D-0F6F8A3B1C2D",
			Start: "usec:1796020767.000123", Program: `grüße;pid=1% "/`, Host: "a.local",
			StartedAt: time.Date(2027, 1, 1, 0, 59, 59, 0, time.FixedZone("", 3600)),
		},
	}
	if strconv.IntSize < 64 {
		return ids
	}
	big := uint32(1<<32 - 4)
	return append(ids,
		identity.Identity{OS: "windows", PID: int(big), Start: "filetime:134260000000000001"},
		identity.Identity{
			OS: "linux", PID: 1<<31 - 1, Start: "ticks:18446744073709551615",
			PIDFD: 1<<53 - 1, PIDNS: 1, TimeNS: 1<<53 - 1,
		})
}

func goldenLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// same compares identities, and times as moments.
func same(a, b identity.Identity) bool {
	at, bt := a.StartedAt, b.StartedAt
	a.StartedAt, b.StartedAt = time.Time{}, time.Time{}
	return a == b && at.Equal(bt)
}

func TestGolden(t *testing.T) {
	texts, jsons := goldenLines(t, "identity-v1.txt"), goldenLines(t, "identity-v1.json")
	for i, id := range goldens() {
		text, err := id.MarshalText()
		if err != nil || string(text) != texts[i] || id.String() != texts[i] {
			t.Errorf("%v\n%s\nwant\n%s", err, text, texts[i])
		}
		object, err := json.Marshal(id)
		if err != nil || string(object) != jsons[i] {
			t.Errorf("%v\n%s\nwant\n%s", err, object, jsons[i])
		}
		var fromText, fromJSON identity.Identity
		if err := fromText.UnmarshalText([]byte(texts[i])); err != nil || !same(fromText, id) {
			t.Errorf("%s: %v, %+v", texts[i], err, fromText)
		}
		if err := json.Unmarshal([]byte(jsons[i]), &fromJSON); err != nil || !same(fromJSON, id) {
			t.Errorf("%s: %v, %+v", jsons[i], err, fromJSON)
		}
	}
}

// Identities as fields of what users keep, as package documentation shows it.
func TestInRecords(t *testing.T) {
	type record struct {
		Writer identity.Identity
		Reader *identity.Identity
		ByID   map[string]identity.Identity
	}
	id := goldens()[0]
	r := record{Writer: id, ByID: map[string]identity.Identity{"a": id}}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back record
	if err := json.Unmarshal(text, &back); err != nil || !same(back.Writer, id) ||
		!same(back.ByID["a"], id) || back.Reader != nil {
		t.Errorf("%s: %v: %+v", text, err, back)
	}
	if _, err := json.Marshal(record{}); !errors.Is(err, identity.ErrMalformed) {
		t.Errorf("a record without a writer: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"Writer":null}`), &back); !errors.Is(err,
		identity.ErrMalformed) {
		t.Errorf("a writer that is null: %v", err)
	}
}

// anyIdentity draws identities that are valid.
func anyIdentity() *rapid.Generator[identity.Identity] {
	number := rapid.OneOf(rapid.Just[uint64](0), rapid.Uint64Max(1<<53-1))
	start := rapid.OneOf(
		rapid.Just[probe.Start](""),
		rapid.Map(rapid.Uint64(), probe.Ticks),
		rapid.Map(rapid.StringMatching(`[a-z]{1,8}:(0|[1-9][0-9]{0,18})`).
			Filter(func(s string) bool { return !strings.HasPrefix(s, "usec:") }),
			func(s string) probe.Start { return probe.Start(s) }),
		rapid.Map(rapid.StringMatching(`usec:(0|[1-9][0-9]{0,9})\.[0-9]{6}`),
			func(s string) probe.Start { return probe.Start(s) }),
	)
	return rapid.Custom(func(t *rapid.T) identity.Identity {
		id := identity.Identity{
			OS:   rapid.StringN(1, -1, -1).Draw(t, "os"),
			PID:  rapid.IntRange(1, 1<<31-1).Draw(t, "pid"),
			Boot: rapid.String().Draw(t, "boot"), Start: start.Draw(t, "start"),
			PIDFD: number.Draw(t, "pidfd"), Serial: number.Draw(t, "serial"),
			PIDNS:  number.Draw(t, "pidns"),
			TimeNS: number.Draw(t, "timens"), Program: rapid.String().Draw(t, "program"),
			Host: rapid.String().Draw(t, "host"),
		}
		if rapid.Bool().Draw(t, "started") {
			// From the year 1 to the year 9999.
			ms := rapid.Int64Range(-62135596799000, 253402300799999).Draw(t, "startedAt")
			id.StartedAt = time.UnixMilli(ms)
		}
		return id
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := anyIdentity().Draw(t, "identity")
		text, err := id.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(string(text), func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("not one word of ASCII: %q", text)
		}
		var fromText, fromJSON identity.Identity
		if err := fromText.UnmarshalText(text); err != nil || !same(fromText, id) {
			t.Fatalf("%s: %v, %+v", text, err, fromText)
		}
		object, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(object, &fromJSON); err != nil || !same(fromJSON, id) {
			t.Fatalf("%s: %v, %+v", object, err, fromJSON)
		}
	})
}
