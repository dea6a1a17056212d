package lockfile

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probate-dev/probate/internal/strictjson"
)

// strictly is what the strict decoder makes of content.
func strictly(content []byte) (*record, error) {
	r := &record{}
	err := strictjson.Unmarshal(content, r)
	return r, err
}

// What is taken apart by hand is what the strict decoder reads, and nothing that it refuses.
func FuzzCanonical(f *testing.F) {
	golden, err := filepath.Glob("testdata/record/v2/*")
	if err != nil || len(golden) == 0 {
		f.Fatal("no golden records", err)
	}
	for _, file := range golden {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	whole := canonicalRecord(f)
	f.Add(whole)
	for _, change := range [][2]string{
		{`"v":2`, `"v":02`}, {`"v":2`, `"v":-2`}, {`"v":2`, `"v":2.0`}, {`"v":2`, `"v":null`},
		{`"v":2`, `"v":3`}, {`"pid":`, `"pid": `}, {`"label":"a`, `"label":"\u0061`},
		{`"local":true`, `"local":false`}, {`"local":true`, `"local":null`},
		{`"label":"`, `"label":"ü`}, {`"label":"`, `"label":"<&>`}, {`"host":"`, `"HOST":"`},
		{`"fence":`, `"fence":9999999999999999999999`}, {`"fence":`, `"fence":99999999999999999`},
		{`}`, `},"proof":{}`}, {`"lease"`, `"owner"`}, {`"inode":`, `"inode":-`}, {`}`, ``},
	} {
		f.Add(bytes.Replace(whole, []byte(change[0]), []byte(change[1]), 1))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, ok := decodeCanonical(content)
		if !ok {
			return
		}
		want, err := strictly(content)
		if err != nil {
			t.Fatalf("%q is taken, and the strict decoder says %v", content, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is %+v, want %+v", content, got, want)
		}
	})
}

// canonicalRecord is a record with all fields, as this toolkit writes it.
func canonicalRecord(tb testing.TB) []byte {
	r := &record{
		V: ptr[int64](2), Lease: strings.Repeat("0a", 24), Owner: strings.Repeat("1b", 8),
		PID: ptr[int64](4711), ProcessStart: ptr[int64](1), HostID: strings.Repeat("2c", 16),
		BootStart: ptr[int64](0), Fence: ptr[int64](maxExact - 1),
		CreatedAt: "2026-11-30T06:39:27.000Z", Program: "importer", Host: "build-7",
		Label: "a 'nightly' import <&>", ExpectedUntil: "2026-11-30T07:39:27.000Z",
		Proof: &proof{
			OS: "linux", Boot: "7f3a4d1c-1111-4222-8333-944455566677", Start: "ticks:12345",
			PIDFD: ptr[uint64](1), Serial: ptr[uint64](2), PIDNS: ptr[uint64](4026531836),
			TimeNS: ptr[uint64](4026531834), File: &proofFile{"ext4", "0a", ptr[uint64](7)},
			FS: "ext4", Local: ptr(true), KernelLock: "ofd",
		},
	}
	content, err := r.encode()
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// What this toolkit writes is taken apart by hand, whatever is left out.
func TestCanonicalIsWhatIsWritten(t *testing.T) {
	full, ok := decodeCanonical(canonicalRecord(t))
	if !ok {
		t.Fatalf("not taken: %s", canonicalRecord(t))
	}
	for name, leave := range map[string]func(r *record){
		"nothing":      func(*record) {},
		"a proof":      func(r *record) { r.Proof = nil },
		"program":      func(r *record) { r.Program = "" },
		"host":         func(r *record) { r.Host = "" },
		"label":        func(r *record) { r.Label = "" },
		"an end":       func(r *record) { r.ExpectedUntil = "" },
		"boot":         func(r *record) { r.Proof.Boot = "" },
		"start":        func(r *record) { r.Proof.Start = "" },
		"pidfd":        func(r *record) { r.Proof.PIDFD = nil },
		"serial":       func(r *record) { r.Proof.Serial = nil },
		"namespaces":   func(r *record) { r.Proof.PIDNS, r.Proof.TimeNS = nil, nil },
		"a filesystem": func(r *record) { r.Proof.FS, r.Proof.Local = "", nil },
		"a lock":       func(r *record) { r.Proof.KernelLock = "" },
		"what is local": func(r *record) {
			r.Proof.Local = ptr(false)
		},
	} {
		r, proof := *full, *full.Proof
		r.Proof = &proof
		leave(&r)
		content, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := decodeCanonical(content)
		if !ok {
			t.Errorf("without %s it is not taken: %s", name, content)
			continue
		}
		if want, err := strictly(content); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("without %s: %+v, want %+v (%v)", name, got, want, err)
		}
	}
	for n := range canonicalRecord(t) {
		if _, ok := decodeCanonical(canonicalRecord(t)[:n]); ok {
			t.Errorf("the first %d bytes are taken for a record", n)
		}
	}
}
