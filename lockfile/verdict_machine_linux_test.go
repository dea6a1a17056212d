package lockfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// hostIDOf is the hostId of record-v2 programs.
func hostIDOf(host, machine string) string {
	sum := sha256.Sum256([]byte(host + "|" + machine))
	return hex.EncodeToString(sum[:16])
}

// Machine ids are absent, empty, malformed and cloned. No verdict on a record with a proof depends
// on them; the host id that other programs compare is made of the text as it stands.
func TestVerdictMachineID(t *testing.T) {
	skipUnlessRoot(t)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const absent, digits = "absent", "0123456789abcdef0123456789abcdef"
	for title, text := range map[string]string{
		"absent":          absent,
		"empty":           "",
		"uninitialized":   "uninitialized\n",
		"31 characters":   digits[:31] + "\n",
		"zeros":           strings.Repeat("0", 32) + "\n",
		"33 zeros":        strings.Repeat("0", 33) + "\n",
		"upper case":      strings.ToUpper(digits) + "\n",
		"no newline":      digits,
		"carriage return": digits + "\r\n",
	} {
		t.Run(title, func(t *testing.T) {
			// All of /etc and the second place of machine ids are replaced in the child's own
			// mounts.
			etc := t.TempDir()
			want := hostIDOf(name, strings.TrimSpace(text))
			if text == absent {
				want = hostIDOf(name, "")
			} else {
				putFile(t, filepath.Join(etc, "machine-id"), []byte(text))
			}
			around := []string{"private", "bind " + etc + " /etc"}
			if _, err := os.Stat("/var/lib/dbus"); err == nil {
				around = append(around, "mount tmpfs /var/lib/dbus")
			}
			c := startWitness(t, inNamespaces(unix.CLONE_NEWNS), around...)
			state := openState(t)
			mustHold(t, c, state)
			content, err := os.ReadFile(state + ".lock")
			if err != nil {
				t.Fatal(err)
			}
			if got := parseRecord(t, content)["hostId"]; got != want {
				t.Errorf("hostId is %v, want %s as other programs write it", got, want)
			}
			wantAlive(t, realReader, state, identity.KernelLockHeld)
			if got := c.Ask("release"); got != "ok" {
				t.Fatal(got)
			}
			holder := startHolder(t, state, nil)
			r := lookThere(t, c, "")
			wantAlive(t, r, state, identity.KernelLockHeld)
			holder.Kill()
			wantTaken(t, r, state, identity.NoSuchProcess)
		})
	}
}

// A host id in the record, another machine's or a clone's, is no evidence either way.
func TestVerdictHostIDIsNoEvidence(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	editRecord(t, state, func(f recordFields) {
		f["hostId"] = strings.Repeat("5", 32)
		f["host"] = "elsewhere"
	})
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	holder.Kill()
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// In a pid namespace the host id is salted, so that other programs outside keep their hands off.
func TestVerdictSaltedHostID(t *testing.T) {
	skipUnlessRoot(t)
	state := openState(t)
	content := func() recordFields {
		t.Helper()
		text, err := os.ReadFile(state + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		return parseRecord(t, text)
	}
	seen := map[any]bool{}
	outside := startHolder(t, state, nil)
	seen[content()["hostId"]] = true
	outside.Ask("release")
	for range 2 {
		inside := startHolder(t, state, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
			"mount proc /proc")
		id := content()["hostId"]
		if seen[id] {
			t.Errorf("hostId %v is the same in two pid namespaces", id)
		}
		seen[id] = true
		inside.Ask("release")
	}
}

func TestVerdictOtherOS(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	foreign := func(f recordFields) {
		f.proof()["os"] = "darwin"
		f.proof()["start"] = "usec:1767323045.123456"
		f.proof()["kernelLock"] = "flock"
	}
	editRecord(t, state, func(f recordFields) { f.proof()["os"] = "darwin" })
	wantAlive(t, realReader, state, identity.KernelLockHeld)
	holder.Kill()
	in := wantUnknown(t, realReader, state, identity.OtherOS)
	wantSays(t, in, "darwin", "linux")
	editRecord(t, state, foreign)
	wantUnknown(t, realReader, state, identity.OtherOS)
}

// sharedSystem is the real system, with the filesystem under the lock as a network share.
type sharedSystem struct{ probe.System }

func (s sharedSystem) Filesystem(handle uintptr) probe.Filesystem {
	fs := s.System.Filesystem(handle)
	fs.Type, fs.Local = probe.Known("nfs", "as the test says"), false
	return fs
}

// On a filesystem that other machines may mount, a free kernel lock and a free number say nothing.
func TestVerdictSharedFilesystem(t *testing.T) {
	shared := lockfile.Options{System: sharedSystem{probe.Real()}}
	sameBoot := shared
	sameBoot.SharedFilesystem = lockfile.SharedSameBoot
	sameBootLocal := lockfile.Options{SharedFilesystem: lockfile.SharedSameBoot}

	state := openState(t)
	holder := startHolder(t, state, nil)
	wantAlive(t, lookHere(shared), state, identity.KernelLockHeld)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	wantAlive(t, lookHere(shared), state, identity.ProcessRunning)
	holder.Kill()
	in := wantUnknown(t, lookHere(shared), state, identity.SharedFilesystem)
	wantSays(t, in, "nfs")
	backdate(t, state)
	wantUnknown(t, lookHere(shared), state, identity.SharedFilesystem)
	wantGone(t, lookHere(sameBoot), state, identity.NoSuchProcess)

	// The owner saw a share, whatever we see.
	editRecord(t, state, func(f recordFields) {
		f.proof()["local"] = false
		f.proof()["fs"] = "nfs"
	})
	wantUnknown(t, realReader, state, identity.SharedFilesystem)
	wantGone(t, lookHere(sameBootLocal), state, identity.NoSuchProcess)
	editRecord(t, state, otherBoot)
	wantUnknown(t, realReader, state, identity.SharedFilesystem)
	wantUnknown(t, lookHere(sameBoot), state, identity.OtherBoot)
	wantUnknown(t, lookHere(sameBootLocal), state, identity.OtherBoot)
	editRecord(t, state, func(f recordFields) {
		f.proof()["boot"] = readBootID(t)
		f.proof()["pidns"] = uint64(4026530000)
	})
	wantUnknown(t, lookHere(sameBootLocal), state, identity.OtherPIDNamespace)
}

// An owner on a share says so in its record.
func TestVerdictOwnerOnShare(t *testing.T) {
	shared := lockfile.Options{System: sharedSystem{probe.Real()}}
	state := openState(t)
	lock, err := lockfile.TryAcquire(state, shared)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	in := wantAlive(t, realReader, state, identity.KernelLockHeld)
	if in.Owner.Local || in.Owner.Filesystem != "nfs" {
		t.Errorf("the owner says filesystem %q, local %v", in.Owner.Filesystem, in.Owner.Local)
	}
}
