//go:build unix

package lockfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The lock as it is on macOS and the BSDs: real files and real flocks of the system that the test
// runs on, and scripted facts about everything else.

const scriptedOwner = 4711

// scripted is a folder with a lock in it whose owner ran on a scripted system.
type scripted struct {
	state string
	sys   *probetest.System // the reader's
	owner probe.Process
	file  vfs.File // the record, open as its owner has it
}

// scriptedLock writes the record that a process of sys would write, with the kernel lock flock on
// it, and lists that process as running.
func scriptedLock(t *testing.T, sys *probetest.System, owner probe.Process,
	changes ...func(proof map[string]any)) *scripted {
	t.Helper()
	s := &scripted{state: filepath.Join(t.TempDir(), "state.json"), sys: sys, owner: owner}
	sys.Add(owner)
	theirs := &probetest.System{SelfProcess: owner, HostFacts: sys.HostFacts, FS: sys.FS}
	content, err := lockfile.NewRecord(lockfile.Options{}, theirs, "importer")
	noError(t, err)
	dir, err := vfs.OS().OpenDir(filepath.Dir(s.state))
	noError(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	s.file, err = dir.Create("state.json.lock", 0o600)
	noError(t, err)
	t.Cleanup(func() { _ = s.file.Close() })
	noError(t, s.file.Lock(vfs.LockFlock))
	info, err := s.file.Stat()
	noError(t, err)
	var record map[string]any
	noError(t, json.Unmarshal(content, &record))
	proof := record["proof"].(map[string]any)
	record["fence"] = 0
	proof["kernelLock"] = "flock"
	proof["file"].(map[string]any)["inode"] = info.Inode
	for _, change := range changes {
		change(proof)
	}
	content, err = json.Marshal(record)
	noError(t, err)
	_, err = s.file.WriteAt(content, 0)
	noError(t, err)
	return s
}

func (s *scripted) unlock(t *testing.T) *scripted {
	t.Helper()
	noError(t, s.file.Unlock(vfs.LockFlock))
	return s
}

func (s *scripted) options() lockfile.Options { return lockfile.Options{System: s.sys} }

func (s *scripted) look(t *testing.T) lockfile.Inspection {
	t.Helper()
	in, err := lockfile.Inspect(s.state, s.options())
	noError(t, err)
	return in
}

// want demands a verdict, and that only "gone" is taken over, with the verdict as its reason.
func (s *scripted) want(t *testing.T, verdict identity.Verdict, reason identity.Reason) {
	t.Helper()
	before := s.look(t)
	if before.Verdict != verdict || before.Reason != reason {
		t.Fatalf("%v [%s], want %v [%s]: %+v", before.Finding, before.Reason, verdict, reason,
			before.Evidence)
	}
	lock, err := lockfile.TryAcquire(s.state, s.options())
	if verdict != identity.Gone {
		if !errors.Is(err, lockfile.ErrBusy) {
			t.Fatalf("taken although %v: %v", before.Finding, err)
		}
		if after := s.look(t); after.LockID != before.LockID || after.Fence != before.Fence {
			t.Errorf("the lock was %s %+v and is %s %+v", before.LockID, before.Fence,
				after.LockID, after.Fence)
		}
		return
	}
	noError(t, err)
	if r := lock.Recovered(); lock.Token() != 1 || r == nil || r.LockID != before.LockID ||
		r.Finding.Reason != reason {
		t.Errorf("token %d, recovered %+v", lock.Token(), r)
	}
	noError(t, lock.WriteFile(s.state, []byte("x"), 0o600))
	noError(t, lock.Release())
	if in := s.look(t); in.Verdict != identity.Free {
		t.Errorf("after the release: %v", in.Finding)
	}
}

func onDarwin(t *testing.T, changes ...func(map[string]any)) *scripted {
	t.Helper()
	return scriptedLock(t, probetest.NewDarwin(),
		probetest.DarwinProcess(scriptedOwner, time.Minute), changes...)
}

func without(field string) func(map[string]any) {
	return func(proof map[string]any) { delete(proof, field) }
}

func says(field string, value any) func(map[string]any) {
	return func(proof map[string]any) { proof[field] = value }
}

// What a record of macOS holds, and that it can be judged.
func TestDarwinRecord(t *testing.T) {
	s := onDarwin(t)
	text, err := os.ReadFile(s.state + ".lock")
	noError(t, err)
	wantText(t, string(text), `"os":"darwin"`, `"boot":"`+probetest.BootSession+`"`,
		`"start":"usec:1767323105.000000"`, `"serial":`, `"kernelLock":"flock"`, `"fs":"apfs"`)
	for _, field := range []string{"pidns", "timens", "pidfd"} {
		if strings.Contains(string(text), field) {
			t.Errorf("%s in %s", field, text)
		}
	}
	in := s.look(t)
	if in.Owner.OS != "darwin" || in.Owner.KernelLock != "flock" || !in.Owner.Local ||
		in.Owner.Filesystem != "apfs" || in.Owner.PID != scriptedOwner {
		t.Errorf("%+v", in.Owner)
	}
}

// The rows of the table that apply on macOS.
func TestDarwinVerdicts(t *testing.T) {
	const alive, gone, unknown = identity.Alive, identity.Gone, identity.Unknown
	gonePID := func(s *scripted) { s.sys.Remove(scriptedOwner) }
	anotherSession := func(s *scripted) {
		s.sys.HostFacts.Boot.ID.Value = strings.Replace(probetest.BootSession, "0", "9", 1)
	}
	noSession := func(s *scripted) {
		s.sys.HostFacts.Boot.ID = probe.Unknown[string]("sysctl", errors.New("not permitted"))
	}
	becomes := func(change func(*probe.Process)) func(*scripted) {
		return func(s *scripted) {
			p := s.owner
			change(&p)
			s.sys.Add(p)
		}
	}
	reused := func(s *scripted) {
		s.sys.Add(probetest.DarwinProcess(scriptedOwner, time.Hour))
	}
	share := func(s *scripted) {
		s.sys.FS.Type, s.sys.FS.Local = probe.Known("smbfs", "scripted"), false
	}
	copied := func(s *scripted) {
		content, err := os.ReadFile(s.state + ".lock")
		noError(t, err)
		noError(t, os.WriteFile(s.state+".copy", content, 0o600))
		noError(t, os.Rename(s.state+".copy", s.state+".lock"))
	}
	for name, tt := range map[string]struct {
		held    bool
		record  []func(map[string]any)
		world   []func(*scripted)
		verdict identity.Verdict
		reason  identity.Reason
	}{
		"2 held": {true, nil, nil, alive, identity.KernelLockHeld},
		"2 held by a child": {true, nil, []func(*scripted){gonePID},
			alive, identity.KernelLockHeld},
		"2 held, restarted": {true, nil, []func(*scripted){anotherSession},
			alive, identity.KernelLockHeld},
		"2 held, on a share": {true, nil, []func(*scripted){share},
			alive, identity.KernelLockHeld},
		"5 runs": {false, nil, nil, alive, identity.ProcessRunning},
		"5 runs, no serial": {false, []func(map[string]any){without("serial")}, nil,
			alive, identity.ProcessRunning},
		"6 restarted": {false, nil, []func(*scripted){anotherSession},
			gone, identity.MachineRestarted},
		"7 missing": {false, nil, []func(*scripted){gonePID},
			gone, identity.NoSuchProcess},
		"7 reused": {false, nil, []func(*scripted){reused}, gone, identity.PIDReused},
		"8 no session": {false, nil, []func(*scripted){noSession},
			gone, identity.KernelLockReleased},
		"8 session malformed": {false, []func(map[string]any){says("boot", "1796020767")}, nil,
			gone, identity.KernelLockReleased},
		"9 no lock claimed": {false, []func(map[string]any){without("kernelLock")},
			[]func(*scripted){gonePID},
			gone, identity.NoSuchProcess},
		"9 a copy": {false, nil, []func(*scripted){copied, gonePID},
			gone, identity.NoSuchProcess},
		"9 a copy, it runs": {false, nil, []func(*scripted){copied},
			alive, identity.ProcessRunning},
		"10 share": {false, nil, []func(*scripted){gonePID, share},
			unknown, identity.SharedFilesystem},
		"10 owner's share": {false, []func(map[string]any){says("local", false)},
			[]func(*scripted){gonePID},
			unknown, identity.SharedFilesystem},
		"11 other session": {false, []func(map[string]any){without("kernelLock")},
			[]func(*scripted){anotherSession},
			unknown, identity.OtherBoot},
		"12 no session": {false, []func(map[string]any){without("kernelLock")},
			[]func(*scripted){noSession, gonePID},
			unknown, identity.BootUnreadable},
		"12 other system": {false, []func(map[string]any){says("os", "freebsd")},
			[]func(*scripted){gonePID},
			unknown, identity.OtherOS},
		"5 stopped": {false, nil, []func(*scripted){becomes(func(p *probe.Process) {
			p.State = probe.Known("stopped", "scripted")
		})}, alive, identity.ProcessRunning},
		"7 zombie": {false, nil, []func(*scripted){becomes(func(p *probe.Process) {
			p.Presence, p.State = probe.Exited, probe.Known("zombie", "scripted")
		})}, gone, identity.ProcessExited},
		"8 cannot be asked": {false, nil, []func(*scripted){func(s *scripted) {
			s.sys.Add(probetest.Absent(scriptedOwner, probe.PresenceUnknown, errors.New("sandbox")))
		}}, gone, identity.KernelLockReleased},
		"12 contradiction": {false,
			[]func(map[string]any){without("kernelLock"), says("serial", 5)},
			nil, unknown, identity.StartUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			s := onDarwin(t, tt.record...)
			for _, change := range tt.world {
				change(s)
			}
			if !tt.held {
				s.unlock(t)
			}
			s.want(t, tt.verdict, tt.reason)
		})
	}
}

// On a BSD only the kernel lock is evidence; on FreeBSD the process is, too.
func TestBSDVerdicts(t *testing.T) {
	for _, os := range []string{"freebsd", "openbsd", "netbsd", "dragonfly"} {
		t.Run(os, func(t *testing.T) {
			begin := func(changes ...func(map[string]any)) *scripted {
				return scriptedLock(t, probetest.NewBSD(os),
					probetest.BSDProcess(os, scriptedOwner, time.Minute), changes...)
			}
			begin().want(t, identity.Alive, identity.KernelLockHeld)
			s := begin().unlock(t)
			s.sys.Remove(scriptedOwner)
			if os == "freebsd" {
				s.want(t, identity.Gone, identity.NoSuchProcess)
				begin().unlock(t).want(t, identity.Alive, identity.ProcessRunning)
				return
			}
			s.want(t, identity.Gone, identity.KernelLockReleased)
			s = begin(without("kernelLock"))
			s.sys.Remove(scriptedOwner)
			s.unlock(t).want(t, identity.Unknown, identity.BootUnreadable)
		})
	}
}

// Probes of macOS and the BSDs that lie take nothing over, however dead the owner is.
func TestOtherProbesThatLie(t *testing.T) {
	self := func(change func(*probe.Process)) func(*probetest.System) {
		return func(s *probetest.System) { change(&s.SelfProcess) }
	}
	missing := self(func(p *probe.Process) { p.Presence = probe.Missing })
	start := self(func(p *probe.Process) {
		p.Start = probe.Known(probe.Ticks(12), "scripted")
	})
	everybody := func(s *probetest.System) {
		me := s.SelfProcess
		s.OnProcess = func(pid int) probe.Process {
			if pid == me.PID {
				return me
			}
			return probetest.Absent(pid, probe.Exited, nil)
		}
	}
	boot := func(s *probetest.System) {
		s.HostFacts.Boot.ID = probe.Known("1796020767", "scripted")
	}
	for os, lies := range map[string]map[string]func(*probetest.System){
		"darwin": {"missing": missing, "ticks": start, "everybody": everybody, "boot": boot,
			"serial": func(s *probetest.System) {
				other := s.SelfProcess
				other.Serial = probe.Known[uint64](3, "scripted")
				s.Add(other)
			}},
		"freebsd":   {"missing": missing, "ticks": start, "everybody": everybody, "boot": boot},
		"openbsd":   {"missing": missing, "ticks": start, "boot": boot},
		"netbsd":    {"missing": missing, "ticks": start},
		"dragonfly": {"missing": missing, "everybody": everybody},
	} {
		for name, lie := range lies {
			t.Run(os+" "+name, func(t *testing.T) {
				var s *scripted
				if os == "darwin" {
					s = onDarwin(t)
				} else {
					s = scriptedLock(t, probetest.NewBSD(os),
						probetest.BSDProcess(os, scriptedOwner, time.Minute))
				}
				s.unlock(t)
				s.sys.Remove(scriptedOwner)
				lie(s.sys)
				before := s.look(t)
				if before.Verdict != identity.Gone {
					t.Fatal(before.Finding)
				}
				_, errTry := lockfile.TryAcquire(s.state, s.options())
				_, errRecover := lockfile.Recover(always, s.state, s.options())
				for _, err := range []error{errTry, errRecover} {
					wantError(t, err, lockfile.ErrBusy)
					wantText(t, err.Error(), "recovery is switched off", "contradict")
				}
				if after := s.look(t); after.LockID != before.LockID || after.Fence.Counter != 0 {
					t.Errorf("%v, fence %+v", after.Finding, after.Fence)
				}
			})
		}
	}
}
