package lockfile

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// encode must write what encoding/json would.
func TestEncodeIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		number := func(name string) *int64 { return ptr(rapid.Int64().Draw(t, name)) }
		some := func(name string) *uint64 {
			if rapid.Bool().Draw(t, "no "+name) {
				return nil
			}
			return ptr(rapid.Uint64().Draw(t, name))
		}
		r := &record{
			V: number("v"), Lease: text("lease"), Owner: text("owner"), PID: number("pid"),
			ProcessStart: number("processStart"), HostID: text("hostId"),
			BootStart: number("bootStart"), Fence: number("fence"), CreatedAt: text("createdAt"),
			Program: text("program"), Host: text("host"), Label: text("label"),
			ExpectedUntil: text("expectedUntil"),
		}
		if rapid.Bool().Draw(t, "proof") {
			r.Proof = &proof{OS: text("os"), Boot: text("boot"), Start: text("start"),
				PIDFD: some("pidfd"), Serial: some("serial"), PIDNS: some("pidns"),
				TimeNS: some("timens"), FS: text("fs"), KernelLock: text("kernelLock")}
			if rapid.Bool().Draw(t, "file") {
				r.Proof.File = &proofFile{text("fs"), text("id"), some("inode")}
			}
			if rapid.Bool().Draw(t, "is local known") {
				r.Proof.Local = ptr(rapid.Bool().Draw(t, "local"))
			}
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		got, err := r.encode()
		if err != nil {
			if want.Len() < maxWritten {
				t.Fatal(err)
			}
			return
		}
		if string(got)+"\n" != want.String() {
			t.Fatalf("%s\nwant\n%s", got, want.String())
		}
	})
}
