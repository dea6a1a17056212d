package lockfile_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// A record of another version is shown to people as far as its words are those of this one, is
// never judged by them, and its secret stays one.
func TestNewerRecordIsShown(t *testing.T) {
	const lease = "0123456789abcdef0123456789abcdef0123456789abcdef"
	since := time.Date(2031, 5, 6, 7, 8, 9, 10e6, time.UTC)
	fence3 := lockfile.Fence{Counter: 3, Record: 3} // a fence that is made now begins there
	for name, c := range map[string]struct {
		content string
		owner   *lockfile.Owner
		fence   lockfile.Fence
	}{
		"the words of this one": {
			`{"v":3,"lease":"` + lease + `","pid":4711,"processStart":1000,"fence":3,
			"createdAt":"2031-05-06T09:08:09.010+02:00","program":"importer","host":"build-7",
			"label":"nightly","proof":{"os":"linux","pidns":7,"boot":"b","start":"ticks:5","fs":"ext4",
			"local":true,"kernelLock":"ofd","more":[]},"more":{"deep":[1,{}]}}`,
			&lockfile.Owner{PID: 4711, Program: "importer", Host: "build-7", Label: "nightly",
				Since: since, StartedAt: time.UnixMilli(1000).UTC(), OS: "linux", PIDNamespace: 7,
				Boot: "b", Start: "ticks:5", Filesystem: "ext4", Local: true, KernelLock: "ofd"},
			fence3},
		"some of them": {`{"v":99999999999999999999999,"pid":12,"fence":3}`,
			&lockfile.Owner{PID: 12}, fence3},
		"other types": {`{"v":3,"pid":"12","program":["a"],"host":7,"createdAt":"soon","fence":"3",
			"proof":{"pidns":-1,"os":{}},"label":null}`, nil, lockfile.Fence{Unread: true}},
		"no numbers that can be": {`{"v":4,"pid":0,"fence":-1,"proof":[1]}`, nil,
			lockfile.Fence{Unread: true}},
		"beyond": {`{"v":4,"pid":4294967297,"fence":9007199254740992}`, nil,
			lockfile.Fence{Unread: true}},
		"nothing": {`{"v":3}`, nil, lockfile.Fence{Unread: true}},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			noError(t, os.WriteFile(state+".lock", []byte(c.content), 0o600))
			in, err := lockfile.Inspect(state, lockfile.Options{})
			noError(t, err)
			if in.Verdict != identity.Unknown || in.Reason != identity.RecordNewer ||
				in.Format != "newer" || in.Fence != c.fence || len(in.Notes) != 0 {
				t.Errorf("%v: %s, %+v, %q", in, in.Format, in.Fence, in.Notes)
			}
			switch {
			case (in.Owner == nil) != (c.owner == nil), c.owner != nil && *in.Owner != *c.owner:
				t.Errorf("owner %+v, want %+v", in.Owner, c.owner)
			}
			said, err := json.Marshal(in)
			noError(t, err)
			if strings.Contains(string(said), lease) {
				t.Error("the lease is shown")
			}
			if c.fence.Unread != strings.Contains(string(said), `"record":null`) {
				t.Errorf("%s", said)
			}
			var again lockfile.Inspection
			noError(t, json.Unmarshal(said, &again))
			if again.Fence != in.Fence {
				t.Errorf("%+v became %+v", in.Fence, again.Fence)
			}
		})
	}
}

// Who breaks a newer record gets a number above the one in it, unless there is none.
func TestBreakNewerRecord(t *testing.T) {
	for number, want := range map[string]fence.Token{
		"41": 42, "9007199254740990": fence.Max, "9007199254740991": 1, `"41"`: 1,
	} {
		state := newState(t)
		noError(t, os.WriteFile(state+".lock", []byte(`{"v":3,"fence":`+number+`}`), 0o600))
		in, err := lockfile.Inspect(state, lockfile.Options{})
		noError(t, err)
		broken, err := lockfile.Break(t.Context(), state,
			lockfile.BreakRequest{LockID: in.LockID, Reason: "test"}, lockfile.Options{})
		if err != nil || broken.Fence != want {
			t.Errorf("fence %s: %+v, %v", number, broken, err)
		}
	}
}

// No number is left: that is said with what can be done.
func TestNoNumberIsLeft(t *testing.T) {
	state := newState(t)
	noError(t, os.WriteFile(state+".fence", []byte("00009007199254740991\n"), 0o600))
	_, err := lockfile.TryAcquire(state, lockfile.Options{FreshToken: true})
	if err == nil {
		t.Fatal("acquired")
	}
	wantText(t, err.Error(), "2^53-1", state+".recovery.log", "move")
}

// A file at the lock's path that was not read has no number, and is not said to have one.
func TestUnreadNumber(t *testing.T) {
	for _, content := range []string{"", "1234\n", "{\"v\":2,\"pid\":", "\x00\x00"} {
		state := newState(t)
		noError(t, os.WriteFile(state+".lock", []byte(content), 0o600))
		in, err := lockfile.Inspect(state, lockfile.Options{})
		noError(t, err)
		if !in.Fence.Unread {
			t.Errorf("%q: %+v", content, in.Fence)
		}
	}
	in, err := lockfile.Inspect(newState(t), lockfile.Options{})
	if err != nil || in.Fence != (lockfile.Fence{}) {
		t.Errorf("free: %+v, %v", in.Fence, err)
	}
}

// A record of 64 KiB does not fill a terminal.
func TestDescriptionIsShort(t *testing.T) {
	o := lockfile.Owner{PID: 7, Program: strings.Repeat("ü", 64), Label: strings.Repeat("ß", 200),
		Host: strings.Repeat("é", 64)}
	whole := o.Description()
	if !strings.Contains(whole, o.Program) || !strings.Contains(whole, o.Label) ||
		!strings.Contains(whole, o.Host) || strings.Contains(whole, "…") {
		t.Error(whole)
	}
	o.Program += "üb"
	o.Label += strings.Repeat("\n", 60000)
	o.Host += "x"
	if cut := o.Description(); strings.Count(cut, "…") != 3 || len(cut) > len(whole)+20 {
		t.Errorf("%d bytes: %.300s", len(cut), cut)
	}
}

// Who only looks is not told to create the directory.
func TestAdviceOnMissingDirectory(t *testing.T) {
	state := newState(t) + "/below/state"
	_, inspected := lockfile.Inspect(state, lockfile.Options{})
	_, _, read := lockfile.ReadLog(state, lockfile.Options{})
	_, recovered := lockfile.Recover(t.Context(), state, lockfile.Options{})
	for _, err := range []error{inspected, read, recovered} {
		if err == nil {
			t.Fatal("no error")
		}
		wantText(t, err.Error(), "check the path")
	}
}
