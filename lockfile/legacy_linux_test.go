package lockfile_test

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// legacyRecord is a record as programs in other languages write it: coarse values, no proof.
type legacyRecord struct {
	V            int    `json:"v"`
	Lease        string `json:"lease"`
	Owner        string `json:"owner"`
	PID          int    `json:"pid"`
	ProcessStart int64  `json:"processStart"`
	HostID       string `json:"hostId"`
	BootStart    int64  `json:"bootStart"`
	Fence        int    `json:"fence"`
	CreatedAt    string `json:"createdAt"`
}

const legacyLease = "8c89a1f05e2d4b7690c3f1e8d7a6b5c4d3e2f10a9b8c7d6e"

// legacyOf is what the process pid would write now: its start as it computes it from its uptime
// when its module is loaded, late by so many milliseconds.
func legacyOf(t *testing.T, pid, late int) legacyRecord {
	t.Helper()
	p, host := probe.Real().Process(pid), probe.Real().Host()
	if !p.StartedAt.Known || !host.Boot.StartedAt.Known {
		t.Fatalf("start of process %d: %v, of the boot: %v", pid, p.StartedAt, host.Boot.StartedAt)
	}
	name, err := os.Hostname()
	must(t, err)
	start := p.StartedAt.Value.UnixMilli() + int64(late)
	return legacyRecord{
		V: 2, Lease: legacyLease, Owner: "edec5480753b96a3", PID: pid, ProcessStart: start,
		HostID:    hostIDOf(name, legacyMachineID()),
		BootStart: host.Boot.StartedAt.Value.UnixMilli() + 4,
		CreatedAt: lockfile.FormatTime(time.UnixMilli(start + 150)),
	}
}

func legacyMachineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// shift sets all times back or ahead, as a step of the clock between record and reader does.
func (r legacyRecord) shift(process, boot, created time.Duration) legacyRecord {
	r.ProcessStart += process.Milliseconds()
	r.BootStart += boot.Milliseconds()
	at, _ := time.Parse(time.RFC3339, r.CreatedAt)
	r.CreatedAt = lockfile.FormatTime(at.Add(created))
	return r
}

func (r legacyRecord) write(t *testing.T, state string) {
	t.Helper()
	content, err := json.Marshal(r)
	must(t, err)
	putFile(t, state+".lock", content)
}

func startSleeper(t *testing.T) *probetest.Child {
	t.Helper()
	c := probetest.Start(t, "verdict-sleeper")
	c.Expect("ready")
	return c
}

// needWholeProc skips where a legacy owner can never be proven gone: in a container, or where not
// every process can be seen.
func needWholeProc(t *testing.T) {
	t.Helper()
	skipUnlessRoot(t)
	host := probe.Real().Host()
	if initial := host.Namespaces.PIDInitial; !initial.Known || !initial.Value {
		t.Skip("needs the initial pid namespace: elsewhere a legacy record is always unknown")
	}
	if !host.ProcFS.Known {
		t.Skip("needs a /proc that hides nothing: ", host.ProcFS)
	}
}

func TestLegacyAliveThenDead(t *testing.T) {
	needWholeProc(t)
	for _, late := range []int{3, 90, 1000, 4900} {
		state, owner := openState(t), startSleeper(t)
		legacyOf(t, owner.PID(), late).write(t, state)
		in := wantAlive(t, realReader, state, identity.ProcessRunning)
		if in.Format != "record-v2-legacy" || in.Owner.KernelLock != "none" ||
			in.Owner.PID != owner.PID() {
			t.Errorf("format %s, owner %+v", in.Format, in.Owner)
		}
		owner.Stop()
		backdate(t, state)
		wantAlive(t, realReader, state, identity.ProcessRunning)
		owner.KillNoReap()
		wantGone(t, realReader, state, identity.ProcessExited)
		owner.Kill()
		in = wantTaken(t, realReader, state, identity.NoSuchProcess)
		// The marker tells the other programs, who do not know the gate, that somebody was faster.
		marker, err := os.ReadFile(state + ".recovered-" + legacyLease[:24])
		if err != nil || !strings.HasPrefix(string(marker), "probate ") {
			t.Errorf("marker %q, %v", marker, err)
		}
		if in.Fence.Record != 0 {
			t.Errorf("fence %+v", in.Fence)
		}
	}
}

// A number that only a thread has belongs to no process.
func TestLegacyThread(t *testing.T) {
	needWholeProc(t)
	state, other := openState(t), startSleeper(t)
	own := strconv.Itoa(other.PID())
	tasks, err := os.ReadDir(filepath.Join("/proc", own, "task"))
	must(t, err)
	r := legacyOf(t, other.PID(), 3)
	for _, task := range tasks {
		if task.Name() != own {
			r.PID, err = strconv.Atoi(task.Name())
			must(t, err)
		}
	}
	if r.PID == other.PID() {
		t.Fatalf("process %s has one thread", own)
	}
	r.write(t, state)
	in := wantTaken(t, realReader, state, identity.NoSuchProcess)
	wantSays(t, in, "thread")
}

// The number of the owner belongs to a process that was started long after the record was written.
func TestLegacyReused(t *testing.T) {
	needWholeProc(t)
	state, heir := openState(t), startSleeper(t)
	r := legacyOf(t, heir.PID(), 3)
	r.shift(-10*time.Minute, 0, -10*time.Minute).write(t, state)
	in := wantGone(t, realReader, state, identity.PIDReused)
	wantSays(t, in, "after the record was written")
	// Close to the tolerances nothing is proven.
	for _, ago := range []time.Duration{-4 * time.Second, -5 * time.Second} {
		r.shift(ago, 0, ago).write(t, state)
		wantAlive(t, realReader, state, identity.ProcessRunning)
	}
	r.shift(-10*time.Minute, 0, 0).write(t, state) // a start alone is never proof
	wantUnknown(t, realReader, state, identity.LegacyAmbiguous)
	r.shift(-10*time.Minute, 0, -4*time.Second).write(t, state)
	wantUnknown(t, realReader, state, identity.LegacyAmbiguous)
}

// A launcher that waits and then becomes the program: the kernel's start is earlier than the
// recorded.
func TestLegacyLauncher(t *testing.T) {
	state, owner := openState(t), startSleeper(t)
	for _, waited := range []int{6_000, 60_000, 3_600_000} {
		r := legacyOf(t, owner.PID(), waited)
		for _, step := range []time.Duration{0, 30 * time.Second, -30 * time.Second,
			100 * time.Second, time.Hour} {
			r.shift(-step, -step, -step).write(t, state) // the clock was set ahead by that since
			wantLegacyNotGone(t, state)
		}
	}
}

// wantLegacyNotGone demands that a living owner is never gone, whatever the clocks did.
func wantLegacyNotGone(t *testing.T, state string) lockfile.Inspection {
	t.Helper()
	a := realReader("inspect", state)
	if v := a.Inspection.Verdict; a.Err != "" || v != identity.Alive && v != identity.Unknown {
		content, _ := os.ReadFile(state + ".lock")
		t.Errorf("the owner lives, and is said to be %v [%s]\n%s%s",
			a.Inspection.Finding, a.Inspection.Reason, content, evidenceText(a.Inspection))
	}
	return a.Inspection
}

// Steps of the clock, after the record was written, or between two of the values in it.
func TestLegacyClockStep(t *testing.T) {
	state, owner := openState(t), startSleeper(t)
	r := legacyOf(t, owner.PID(), 30)
	for _, step := range []time.Duration{time.Hour, -time.Hour, time.Minute, -time.Minute,
		6 * time.Second, -6 * time.Second, 119 * time.Second,
		90 * 24 * time.Hour, -90 * 24 * time.Hour} {
		for _, shifted := range []legacyRecord{
			r.shift(step, step, step), // after all of them
			r.shift(step, step, 0),    // before the record
			r.shift(step, 0, 0),       // between start of the process and first use
			r.shift(0, step, 0),
			r.shift(0, step, step),
			r.shift(0, 0, step),
		} {
			shifted.write(t, state)
			wantLegacyNotGone(t, state)
		}
	}
	r.shift(time.Hour, time.Hour, time.Hour).write(t, state)
	wantVerdict(t, realReader("inspect", state), identity.Unknown, identity.OtherBoot)
	r.shift(time.Minute, time.Minute, time.Minute).write(t, state)
	if in := wantLegacyNotGone(t, state); in.Verdict != identity.Alive {
		t.Errorf("after a step of a minute: %v", in.Finding)
	}
}

// Two steps of the clock: one between the start of the process and its first use of the lock, one
// after. No single value of the record fits the reader's clock then, and the owner lives.
func TestLegacyTwoClockSteps(t *testing.T) {
	state, owner := openState(t), startSleeper(t)
	r := legacyOf(t, owner.PID(), 30)
	for _, before := range []time.Duration{-time.Hour, -time.Minute, -6 * time.Second,
		6 * time.Second, time.Minute} {
		for _, after := range []time.Duration{-100 * time.Second, -12 * time.Second,
			12 * time.Second, 100 * time.Second} {
			// As the reader's clock is zero: the record lies back by the later step, the start by
			// both.
			r.shift(-before-after, -after, -after).write(t, state)
			wantLegacyNotGone(t, state)
		}
	}
}

func TestLegacyElsewhere(t *testing.T) {
	state, owner := openState(t), startSleeper(t)
	dead := legacyOf(t, owner.PID(), 3)
	owner.Kill()
	r := dead
	r.HostID = strings.Repeat("5", 32)
	r.write(t, state)
	wantUnknown(t, realReader, state, identity.OtherMachine)
	for _, boot := range []time.Duration{121 * time.Second, -121 * time.Second, -time.Hour} {
		dead.shift(0, boot, 0).write(t, state)
		wantUnknown(t, realReader, state, identity.OtherBoot)
	}
	dead.write(t, state)
	wantUnknown(t, lookHere(lockfile.Options{System: sharedSystem{probe.Real()}}), state,
		identity.SharedFilesystem)
	wantUnknown(t, lookHere(lockfile.Options{System: sharedSystem{probe.Real()},
		SharedFilesystem: lockfile.SharedSameBoot}), state, identity.SharedFilesystem)
}

// A legacy record does not say in which pid namespace its number counts.
func TestLegacyNamespaces(t *testing.T) {
	needWholeProc(t)
	inside := startWitness(t, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
		"mount proc /proc")
	free, got := 0, ""
	for range 50 { // a number may go to a thread of the process that starts the other one
		free = freeNumber(t)
		if got = inside.Ask("at " + strconv.Itoa(free)); got == "ok" {
			break
		}
	}
	if got != "ok" {
		t.Fatal(got)
	}
	// The owner is process free inside, and nobody here.
	state := openState(t)
	r := legacyOf(t, inside.PID(), 400)
	r.PID = free
	r.write(t, state)
	in := wantUnknown(t, realReader, state, identity.NamespaceUnrecorded)
	wantSays(t, in, "pid namespace below")
	// From inside as well.
	wantUnknown(t, lookThere(t, inside, ""), state, identity.NamespaceUnrecorded)
	// Written long before that process was started, by another one that had the number.
	r.shift(-10*time.Minute, 0, -10*time.Minute).write(t, state)
	wantGone(t, realReader, state, identity.NoSuchProcess)
	r.write(t, state)
	if got = inside.Ask("end"); got != "ok" {
		t.Fatal(got)
	}
	wantGone(t, realReader, state, identity.NoSuchProcess)
	wantUnknown(t, lookThere(t, inside, ""), state, identity.NamespaceUnrecorded)
}

// freeNumber returns a process number that nobody here has, and that will not be given out soon.
func freeNumber(t *testing.T) int {
	t.Helper()
	read := func(path string) int {
		text, err := os.ReadFile(path)
		must(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		must(t, err)
		return n
	}
	last, most := read("/proc/sys/kernel/ns_last_pid"), read("/proc/sys/kernel/pid_max")
	for n := (last + most/2 + rand.N(1000)) % most; ; n = (n + 1) % most {
		if n > 1000 && probe.Real().Process(n).Presence == probe.Missing {
			return n
		}
	}
}

// The real thing, where it is installed: a program in another language as owner, and as contender.
func TestLegacyNode(t *testing.T) {
	needWholeProc(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: a record-v2 program in JavaScript cannot be run")
	}
	state := openState(t)
	peer := startPeer(t, node, state)
	if got := peer.line(); got != "held" {
		t.Fatal(got)
	}
	in := wantAlive(t, realReader, state, identity.ProcessRunning)
	if in.Owner.PID != peer.cmd.Process.Pid {
		t.Errorf("owner %+v, want process %d", in.Owner, peer.cmd.Process.Pid)
	}
	must(t, peer.cmd.Process.Kill())
	_ = peer.cmd.Wait()
	wantGone(t, realReader, state, identity.NoSuchProcess)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	must(t, err)
	if got := startPeer(t, node, state).line(); got != "busy" {
		t.Errorf("while the lock is held here: %s, want busy", got)
	}
	must(t, lock.Check())
	must(t, lock.Release())
	peer = startPeer(t, node, state)
	if got := peer.line(); got != "held" {
		t.Fatal(got)
	}
	_, err = peer.in.Write([]byte("release\n"))
	must(t, err)
	if got := peer.line(); got != "released" {
		t.Fatal(got)
	}
	wantFree(t, realReader, state)
}

type jsPeer struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startPeer(t *testing.T, node, state string) jsPeer {
	t.Helper()
	cmd := exec.Command(node, "testdata/peer.js", state)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return jsPeer{t, cmd, in, bufio.NewReader(out)}
}

func (p jsPeer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	must(p.t, err)
	return strings.TrimSpace(line)
}
