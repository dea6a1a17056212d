package lockfile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func goldenRecords(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/record/v2/*.json")
	if err != nil || len(paths) < 4 {
		tb.Fatalf("golden records: %v, %v", paths, err)
	}
	records := map[string][]byte{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		records[strings.TrimSuffix(filepath.Base(path), ".json")] = content
	}
	return records
}

// The golden records stand for files that are out there: they must be readable for ever, and what
// is written must look like them to the byte.
func TestRecordGolden(t *testing.T) {
	for name, content := range goldenRecords(t) {
		d := lockfile.DecodeRecord(content)
		if d.Reason != "" {
			t.Errorf("%s: %s: %v", name, d.Reason, d.Detail)
			continue
		}
		again, err := d.Encode()
		if err != nil || !bytes.Equal(again, content) {
			t.Errorf("%s became\n%s\nfrom\n%s\n%v", name, again, content, err)
		}
	}
}

func TestRecordGoldenMeaning(t *testing.T) {
	records := goldenRecords(t)
	since := time.Date(2026, 11, 30, 6, 39, 27, 914e6, time.UTC)
	started := time.UnixMilli(1796020767790).UTC()
	got := lockfile.DecodeRecord(records["proof"]).Claim
	want := identity.Claim{
		Form: identity.WithProof, Since: since,
		Owner: identity.Identity{OS: "linux", PID: 4711, Boot: probetest.BootID,
			Start: "ticks:96730", PIDFD: 18442, PIDNS: 4026531836, TimeNS: 4026531834,
			Program: "importer", Host: "vm", StartedAt: started},
		File:       identity.FileID{FS: "ext4", ID: "d94c6b7bf7a491f3", Inode: 131077},
		KernelLock: "ofd", Local: true,
		HostID:         "fcc693158788fa38ea66613916aa6bcc",
		ProcessStartMS: 1796020767790, BootStartMS: 1796019800483,
	}
	if got != want {
		t.Errorf("proof: got\n%+v, want\n%+v", got, want)
	}
	got = lockfile.DecodeRecord(records["legacy"]).Claim
	want = identity.Claim{
		Form: identity.Legacy, Since: since,
		Owner:          identity.Identity{PID: 9447, StartedAt: started.Add(time.Millisecond)},
		HostID:         "fcc693158788fa38ea66613916aa6bcc",
		ProcessStartMS: 1796020767791, BootStartMS: 1796019800483,
	}
	if got != want {
		t.Errorf("legacy: got\n%+v, want\n%+v", got, want)
	}
	if inode := lockfile.DecodeRecord(records["darwin"]).Claim.File.Inode; inode != 1<<64-1 {
		t.Errorf("inode %d", inode)
	}
}

// Names and order of the fields are what programs in other languages were written against.
func TestRecordFields(t *testing.T) {
	opts := lockfile.Options{Label: "nightly",
		ExpectedUntil: time.Date(2026, 11, 30, 8, 0, 0, 0, time.FixedZone("", 3600))}
	content, err := lockfile.NewRecord(opts, probetest.New(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"v", "lease", "owner", "pid", "processStart", "hostId", "bootStart", "fence",
		"createdAt", "proof", "os", "boot", "start", "pidfd", "pidns", "timens", "file", "fs", "id",
		"inode", "fs", "local", "kernelLock", "program", "host", "label", "expectedUntil"}
	if got := keysOf(t, content); !slices.Equal(got, want) {
		t.Errorf("fields\n%q, want\n%q", got, want)
	}
	var r struct {
		Lease, Owner, HostID, CreatedAt, ExpectedUntil string
		PID, ProcessStart, BootStart, Fence            int64
		Proof                                          struct{ Boot, Start string }
	}
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Lease) != 48 || len(r.Owner) != 16 || r.PID != probetest.SelfPID || r.Fence != 7 ||
		r.ProcessStart != probetest.BootTime.UnixMilli()+50_000 ||
		r.BootStart != probetest.BootTime.UnixMilli() ||
		r.ExpectedUntil != "2026-11-30T07:00:00.000Z" || r.Proof.Start != "ticks:5000" ||
		r.Proof.Boot != probetest.BootID {
		t.Errorf("record %+v", r)
	}
	at, err := time.Parse("2006-01-02T15:04:05.000Z", r.CreatedAt)
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("createdAt %q: %v", r.CreatedAt, err)
	}
	if bytes.ContainsAny(content, "\n\r") || content[0] != '{' || content[len(content)-1] != '}' {
		t.Errorf("not one line: %q", content)
	}
}

// keysOf returns the keys of a JSON object and of the objects in it, in their order.
func keysOf(t *testing.T, content []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(content))
	var keys []string
	for depth, key := 0, false; ; {
		tok, err := dec.Token()
		if err != nil {
			return keys
		}
		switch tok := tok.(type) {
		case json.Delim:
			if tok == '{' {
				depth++
			} else {
				depth--
			}
			key = true
		case string:
			if key {
				keys = append(keys, tok)
			}
			key = !key
		default:
			key = true
		}
	}
}

// Every tenure has its own lease, every process one owner.
func TestRecordSecrets(t *testing.T) {
	var leases, owners []string
	for range 3 {
		content, err := lockfile.NewRecord(lockfile.Options{}, probetest.New(), "")
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Lease, Owner string }
		if err := json.Unmarshal(content, &r); err != nil {
			t.Fatal(err)
		}
		leases, owners = append(leases, r.Lease), append(owners, r.Owner)
	}
	slices.Sort(leases)
	if len(slices.Compact(leases)) != 3 {
		t.Errorf("leases %q", leases)
	}
	if len(slices.Compact(owners)) != 1 {
		t.Errorf("owners %q", owners)
	}
}

// The test vector of the programs in other languages.
func TestRecordHostID(t *testing.T) {
	host := probe.Host{OS: "linux", Machine: probe.Machine{
		Legacy: "3d1219c7c4c5404aaa1f6d2a48adfda4", Host: probe.Known("vm", "test")}}
	if got := lockfile.LegacyHostID(host); got != "fcc693158788fa38ea66613916aa6bcc" {
		t.Errorf("hostId %s", got)
	}
}

// Every proper beginning of a record is torn, with NUL bytes behind it or not: never damaged, never
// foreign, never a record.
func TestRecordPrefixes(t *testing.T) {
	for name, content := range goldenRecords(t) {
		often := name == "proof" || name == "legacy"
		for n := range content {
			for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 4096)} {
				if (len(tail) > 0 || !often) && n%16 != 0 {
					continue // slow with the race detector
				}
				d := lockfile.DecodeRecord(append(content[:n:n], tail...))
				want := identity.RecordCutShort
				if n == 0 {
					want = identity.RecordEmpty
					if tail != "" {
						want = identity.RecordNUL
					}
				}
				if d.Reason != want || !d.Torn {
					t.Fatalf("%s: %q with %d NUL bytes is %s (%v), want %s",
						name, content[:n], len(tail), d.Reason, d.Detail, want)
				}
			}
		}
	}
}

// What only looks like the beginning of a record may be anybody's file.
func TestRecordNotTorn(t *testing.T) {
	for _, content := range []string{`{"w":2,`, `{"v":3,`, `{"v":22`, `{"v":"2"`, `{"name":"x`, `[`,
		`"`, "{{", `{"v":2,}`, `{"v":2,"lease":"a"} {`, `{"v":2,"lease":"a","lease":"b`, "\x00{",
		`{"v":2,"pid":07`} {
		if d := lockfile.DecodeRecord([]byte(content)); d.Torn || d.Reason == "" {
			t.Errorf("%q is %s, torn %v", content, d.Reason, d.Torn)
		}
	}
}

func FuzzRecordDecode(f *testing.F) {
	for _, content := range goldenRecords(f) {
		f.Add(content)
		f.Add(content[:len(content)/2])
		f.Add(append(bytes.Clone(content), '\n'))
		f.Add(bytes.ReplaceAll(content, []byte(":2,"), []byte(":3,")))
	}
	for _, s := range []string{"", "\x00\x00", "null", "[]", "{}", `{"pid":7,"PID":9}`, "\ufeff{}",
		"1234\n", strings.Repeat("0123456789abcdef", 3), "{\"v\":2,\xff",
		`{"v":2,"x":` + strings.Repeat("[", 40)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		d := lockfile.DecodeRecord(content)
		if d.Reason != "" {
			return
		}
		if d.Claim.Owner.PID <= 0 || d.Claim.Owner.PID > 1<<31-1 || len(d.Lease) != 48 {
			t.Errorf("accepted process %d, lease %q", d.Claim.Owner.PID, d.Lease)
		}
		again, err := d.Encode()
		if err != nil {
			return // longer than we write
		}
		e := lockfile.DecodeRecord(again)
		if e.Claim.Since.Equal(d.Claim.Since) {
			e.Claim.Since = d.Claim.Since // the zones are pointers
		}
		if e.Reason != "" || e.Claim != d.Claim || e.Lease != d.Lease {
			t.Errorf("%q\nbecame %q\n%s %v", content, again, e.Reason, e.Detail)
		}
	})
}
