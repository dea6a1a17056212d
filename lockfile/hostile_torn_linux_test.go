package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	// An opener has a file open, in the way that its second argument says, until it is killed.
	probetest.Register("hostile-opener", func(p *probetest.Peer) {
		flags, err := strconv.Atoi(p.Arg(1))
		p.Check(err)
		_, err = unix.Open(p.Arg(0), flags|unix.O_CLOEXEC, 0)
		p.Check(err)
		p.Send("open")
		p.Wait()
	})
}

func startOpener(t *testing.T, path string, flags int) *probetest.Child {
	t.Helper()
	c := probetest.Start(t, "hostile-opener", path, strconv.Itoa(flags))
	c.Expect("open")
	return c
}

// tornRecords are what a crash between creation and write leaves, or a power cut.
func tornRecords(whole []byte) map[identity.Reason]string {
	return map[identity.Reason]string{
		identity.RecordEmpty:    "",
		identity.RecordNUL:      strings.Repeat("\x00", 200),
		identity.RecordCutShort: string(whole[:len(whole)/2]),
	}
}

// A record that was never written whole is orphaned when no process has it open, and only then.
func TestHostileTorn(t *testing.T) {
	skipUnlessRoot(t) // to see everybody's descriptors
	state := openState(t)
	whole := deadRecord(t, state)
	for reason, content := range tornRecords(whole) {
		t.Run(string(reason), func(t *testing.T) {
			putFile(t, state+".lock", []byte(content))
			for i, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR | unix.O_APPEND} {
				opener := startOpener(t, state+".lock", flags)
				backdate(t, state)
				in := wantVerdict(t, realReader("inspect", state), identity.Unknown, reason)
				wantSays(t, in, fmt.Sprintf("process %d", opener.PID()), "has it open")
				if i == 0 && content == "" { // slow: a moment later nobody might have it open
					wantUnknown(t, realReader, state, reason)
				}
				opener.KillNoReap() // a zombie has nothing open
				wantGone(t, realReader, state, identity.RecordOrphaned)
			}
			fence := realReader("inspect", state).Inspection.Fence.Counter
			in := wantTaken(t, realReader, state, identity.RecordOrphaned)
			if in.Owner != nil || in.Format != strings.TrimPrefix(string(reason), "record-") {
				t.Errorf("owner %+v, format %s", in.Owner, in.Format)
			}
			now := realReader("inspect", state).Inspection.Fence.Counter
			if now != fence+1 {
				t.Errorf("the fence went from %d to %d", fence, now)
			}
		})
	}
}

// TryAcquire takes an orphaned record over, and logs why.
func TestHostileTornAcquire(t *testing.T) {
	skipUnlessRoot(t)
	for reason, content := range tornRecords(deadRecord(t, openState(t))) {
		state := openState(t)
		putFile(t, state+".lock", []byte(content))
		a := realReader("try", state)
		if !a.Got || a.Recovered == nil || a.Recovered.Finding.Reason != identity.RecordOrphaned ||
			a.Recovered.Owner != nil {
			t.Fatalf("%s: %+v", reason, a)
		}
		log, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
		if err != nil || unreadable != 0 || len(log) != 1 ||
			log[0].Reason != string(identity.RecordOrphaned) ||
			log[0].LockID != a.Recovered.LockID || log[0].RecoveredPID != 0 || log[0].Fence != 1 {
			t.Errorf("%s: the log says %+v, %d unreadable, %v", reason, log, unreadable, err)
		}
		wantFree(t, realReader, state)
	}
}

// From another pid namespace, and without /proc, the kernel says whether anybody has the file open.
// Who may not ask the kernel that way, and cannot see every process, does not know.
func TestHostileTornSeenFromElsewhere(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	putFile(t, state+".lock", nil)
	must(t, os.Chmod(state+".lock", 0o644))
	flags := uintptr(unix.CLONE_NEWPID | unix.CLONE_NEWNS)
	for name, r := range map[string]onlooker{
		"pid namespace": lookThere(t, startWitness(t, inNamespaces(flags), "private",
			"mount proc /proc"), ""),
		"hidepid": lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWNS), "private",
			"mount proc /proc hidepid=2"), ""),
		"no /proc": lookThere(t, startWitness(t, inNamespaces(unix.CLONE_NEWNS), "private",
			"mount tmpfs /proc"), ""),
		"other user": lookThere(t, startWitness(t, nil, "user "+strconv.Itoa(otherUser)), ""),
		"share":      lookHere(lockfile.Options{System: sharedSystem{probe.Real()}}),
	} {
		t.Run(name, func(t *testing.T) {
			opener := startOpener(t, state+".lock", unix.O_RDONLY)
			wantVerdict(t, r("inspect", state), identity.Unknown, identity.RecordEmpty)
			wantVerdict(t, r("try", state), identity.Unknown, identity.RecordEmpty)
			opener.Kill()
			fs := probe.Real().Filesystem(openDir(t, filepath.Dir(state)))
			if name == "other user" || name == "share" || fs.Type.Value == "overlay" {
				wantUnknown(t, r, state, identity.RecordEmpty)
				return
			}
			wantGone(t, r, state, identity.RecordOrphaned)
		})
	}
	wantGone(t, realReader, state, identity.RecordOrphaned)
	must(t, os.Chmod(state+".lock", 0o666))
	wantUnknown(t, realReader, state, identity.RecordUntrusted)
}

// openDir opens a folder until the end of the test.
func openDir(t *testing.T, dir string) uintptr {
	t.Helper()
	f, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f.Fd()
}

// Several who find the same orphan are in each other's way for a moment, and all get the lock in
// turn.
func TestHostileTornContended(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	var all []*probetest.Child
	for range 6 {
		all = append(all, startWitness(t, nil))
	}
	putFile(t, state+".lock", nil)
	for _, c := range all {
		c.Send("once " + state)
	}
	for _, c := range all {
		if got := c.Line(); got != "ok" {
			t.Error(got)
		}
	}
	wantFree(t, realReader, state)
	log, _, err := lockfile.ReadLog(state, lockfile.Options{})
	if err != nil || len(log) != 1 || log[0].Reason != string(identity.RecordOrphaned) {
		t.Errorf("the log says %+v, %v; want one takeover", log, err)
	}
}

// Every proper beginning of a record, of ours and of other programs, is empty or cut short.
func TestHostilePrefixes(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	whole := deadRecord(t, state)
	legacy := withoutProof(t, whole)
	for _, record := range [][]byte{whole, legacy} {
		for n := range record {
			if n > 8 && n%23 != 0 && n < len(record)-4 {
				continue // the codec's own test has them all
			}
			for _, tail := range []string{"", "\x00\x00\x00"} {
				putFile(t, state+".lock", append(record[:n:n], tail...))
				want := "cut-short"
				if n == 0 && tail == "" {
					want = "empty"
				} else if n == 0 {
					want = "nul"
				}
				in := realReader("inspect", state).Inspection
				if in.Reason != identity.RecordOrphaned || in.Format != want {
					t.Fatalf("%q: %v [%s], format %s, want %s", record[:n], in.Finding, in.Reason,
						in.Format, want)
				}
			}
		}
	}
}
