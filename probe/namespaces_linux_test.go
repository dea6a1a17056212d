package probe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// wantReason fails unless f is unknown for a reason that holds these words.
func wantReason(t *testing.T, what string, f fact, words string) {
	t.Helper()
	if f.known() || !strings.Contains(f.Unknown, words) {
		t.Errorf("%s is %+v, want unknown: %q", what, f, words)
	}
}

// A pid namespace in which /proc still is the one of the outer namespace: every number in it is a
// trap.
func TestPIDNamespaceWithForeignProc(t *testing.T) {
	needsRoot(t)
	v := startView(t, in(unix.CLONE_NEWPID))
	outside := probe.Real().Process(v.PID())
	self := v.self()
	if self.PID != 1 || self.Start.Value != string(outside.Start.Value) {
		t.Errorf("self is %+v, from outside %+v", self, outside)
	}
	p := v.process(1)
	if p.Presence != "running" {
		t.Errorf("number 1 is %+v", p)
	}
	wantReason(t, "start of 1", p.Start, "another pid namespace")
	if hasPIDFD(t) && fmt.Sprintf("%.0f", p.PIDFD.Value) != outside.PIDFD.String() {
		t.Errorf("pidfd of 1 is %v, from outside %v", p.PIDFD, outside.PIDFD)
	}
	if p := v.process(os.Getpid()); p.Presence != "missing" {
		t.Errorf("a number of the outer namespace is %+v", p)
	}
	h := v.host()
	wantReason(t, "procfs", h.ProcFS, "another pid namespace")
	if h.Namespaces.PIDInitial.Value != false ||
		h.Namespaces.PID.Value == float64(probe.Real().Host().Namespaces.PID.Value) {
		t.Errorf("namespaces: %+v", h.Namespaces)
	}
	if !h.Boot.ID.known() {
		t.Errorf("boot: %+v", h.Boot)
	}
	for _, question := range []string{"openers /etc/passwd", "nested 1"} {
		if f := v.found(question); !strings.Contains(f.Incomplete, "another pid namespace") {
			t.Errorf("%s: %+v", question, f)
		}
	}
	if text := v.selfcheck(); text != "<nil>" {
		t.Errorf("self check: %s", text)
	}
}

func TestPIDNamespaceWithOwnProc(t *testing.T) {
	needsRoot(t)
	v := startView(t, in(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private", "mount proc /proc")
	outside := probe.Real().Process(v.PID())
	for _, p := range []process{v.self(), v.process(1)} {
		if p.Presence != "running" || p.Start.Value != string(outside.Start.Value) {
			t.Errorf("inside %+v, outside %+v", p, outside)
		}
	}
	h := v.host()
	if !h.ProcFS.known() || !h.Boot.ID.known() || h.Namespaces.PIDInitial.Value != false {
		t.Errorf("host: %+v", h)
	}
	for _, question := range []string{"openers /etc/passwd", "nested 1"} {
		if f := v.found(question); !strings.Contains(
			f.Incomplete,
			"not the initial pid namespace",
		) {
			t.Errorf("%s: %+v", question, f)
		}
	}
	// From outside it can be found by its inner number.
	n := probe.Real().Nested(1)
	i := slices.IndexFunc(n.Found, func(p probe.Process) bool { return p.PID == v.PID() })
	if i < 0 || n.Found[i].Start != outside.Start || n.Found[i].Presence != probe.Running {
		t.Errorf("nested: %+v", n)
	}
	if n.Incomplete != nil {
		t.Errorf("nested is incomplete: %v", n.Incomplete)
	}
	v.Kill()
	n = probe.Real().Nested(1)
	if slices.ContainsFunc(n.Found, func(p probe.Process) bool { return p.PID == v.PID() }) {
		t.Errorf("nested, after the end: %+v", n)
	}
}

func TestNestedNobody(t *testing.T) {
	n := probe.Real().Nested(probe.MaxPID)
	if len(n.Found) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestTimeNamespace(t *testing.T) {
	needsRoot(t)
	v := startView(t, nil, "time 100000")
	outside := probe.Real().Process(v.PID())
	self := v.self()
	var ticks uint64
	fmt.Sscanf(string(outside.Start.Value), "ticks:%d", &ticks)
	if self.Start.Value != string(probe.Ticks(ticks+100000*100)) {
		t.Errorf("start is %v outside and %v inside", outside.Start, self.Start)
	}
	h := v.host()
	if !h.Namespaces.Time.known() ||
		h.Namespaces.Time.Value == float64(probe.Real().Host().Namespaces.Time.Value) {
		t.Errorf("time namespace: %+v", h.Namespaces)
	}
	// Boot and start move together: wall time is the same for both.
	inside, err := time.Parse(time.RFC3339, fmt.Sprint(self.StartedAt.Value))
	if err != nil || inside.Sub(outside.StartedAt.Value).Abs() > time.Minute {
		t.Errorf("started at %v inside and %v outside: %v", inside, outside.StartedAt, err)
	}
	if text := v.selfcheck(); text != "<nil>" {
		t.Errorf("self check: %s", text)
	}
}

// hidepid makes /proc deny what is there. Nothing may become missing by it.
func TestHidePID(t *testing.T) {
	needsRoot(t)
	owner := probetest.Start(t, "sleeper")
	owner.Expect("ready")
	want := probe.Real().Process(owner.PID())
	for _, option := range []string{"hidepid=1", "hidepid=2", "hidepid=4"} {
		t.Run(option, func(t *testing.T) {
			mount := []string{"private", "mount proc /proc " + option}
			for _, args := range [][]string{
				append(mount, "nobody"), append(mount, "nobody", "without-pidfd"),
			} {
				v := startView(t, in(unix.CLONE_NEWNS), args...)
				p := v.process(owner.PID())
				presence := "running"
				if len(args) > 3 {
					// kill says that something is there, /proc does not say what
					presence = "unknown"
				}
				if p.Presence != presence || p.Start.known() {
					t.Errorf("%v: %+v", args, p)
				}
				if hasPIDFD(t) && presence == "running" &&
					fmt.Sprintf("%.0f", p.PIDFD.Value) != want.PIDFD.String() {
					t.Errorf("%v: pidfd is %v, want %v", args, p.PIDFD, want.PIDFD)
				}
				wantReason(t, "procfs", v.host().ProcFS, "hidepid")
				if f := v.found("nested 1"); !strings.Contains(f.Incomplete, "hidepid") {
					t.Errorf("%v: nested %+v", args, f)
				}
				if self := v.self(); !self.Start.known() {
					t.Errorf("%v: self %+v", args, self)
				}
				if text := v.selfcheck(); text != "<nil>" {
					t.Errorf("%v: self check: %s", args, text)
				}
			}
			// From root nothing is hidden here, but it cannot know that.
			v := startView(t, in(unix.CLONE_NEWNS), mount...)
			if p := v.process(owner.PID()); p.Start.Value != string(want.Start.Value) {
				t.Errorf("as root: %+v", p)
			}
			wantReason(t, "procfs", v.host().ProcFS, "hidepid")
		})
	}
	v := startView(t, in(unix.CLONE_NEWNS), "private", "mount proc /proc hidepid=0", "nobody")
	if h := v.host(); !h.ProcFS.known() {
		t.Errorf("hidepid=0: %+v", h.ProcFS)
	}
}

// subset=pid hides files, not processes.
func TestSubsetPID(t *testing.T) {
	needsRoot(t)
	v := startView(t, in(unix.CLONE_NEWNS), "private", "mount proc /proc subset=pid")
	h := v.host()
	wantReason(t, "boot id", h.Boot.ID, "no such file")
	if !h.ProcFS.known() || !h.Namespaces.PID.known() {
		t.Errorf("host: %+v", h)
	}
	if p := v.process(os.Getpid()); p.Presence != "running" || !p.Start.known() {
		t.Errorf("%+v", p)
	}
}

func TestBootIDGenuine(t *testing.T) {
	if id := probe.Real().Host().Boot.ID; !id.Known {
		t.Fatalf("boot id is %v", id)
	}
	needsRoot(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "fake")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("fake", "01234567-89ab-4cde-8f01-23456789abcd\n")
	for name, c := range map[string]struct {
		args   []string
		reason string // "" when it is genuine
	}{
		"untouched":         {nil, ""},
		"docker, read-only": {[]string{"bind /proc/sys /proc/sys", "readonly /proc/sys"}, ""},
		"itself":            {[]string{"bind " + bootIDPath + " " + bootIDPath}, ""},
		"another proc":      {[]string{"mount proc /proc"}, ""},
		"file":              {[]string{"bind " + fake + " " + bootIDPath}, "not genuine"},
		"empty":             {[]string{"bind " + write("empty", "") + " " + bootIDPath}, "not genuine"},
		"short":             {[]string{"bind " + write("short", "abcde") + " " + bootIDPath}, "not genuine"},
		"uuid beside it": {[]string{"bind /proc/sys/kernel/random/uuid " + bootIDPath},
			"not genuine: /sys/kernel/random/uuid"},
		"other file of proc": {[]string{"bind /proc/version " + bootIDPath}, "not genuine"},
		"folder above":       {[]string{"mount tmpfs /proc/sys/kernel/random"}, "no such file"},
		"other on docker": {[]string{"bind /proc/sys /proc/sys", "bind " + fake + " " + bootIDPath},
			"not genuine"},
		"tmpfs on proc": {[]string{"mount tmpfs /proc"}, "tmpfs"},
	} {
		v := startView(t, in(unix.CLONE_NEWNS), append([]string{"private"}, c.args...)...)
		id := v.host().Boot.ID
		if c.reason != "" {
			wantReason(t, name, id, c.reason)
		} else if id.Value != probe.Real().Host().Boot.ID.Value {
			t.Errorf("%s: %+v", name, id)
		}
	}
}

// Without /proc there is still the kernel to ask.
func TestNoProc(t *testing.T) {
	needsRoot(t)
	for name, args := range map[string][]string{
		"chroot": {"chroot " + t.TempDir()},
		"tmpfs":  {"private", "mount tmpfs /proc"},
	} {
		v := startView(t, in(unix.CLONE_NEWNS), args...)
		self := v.self()
		wantReason(t, name+": start", self.Start, "/proc cannot be trusted")
		p := v.process(os.Getpid())
		if p.Presence != "running" || p.PIDFD.known() != hasPIDFD(t) {
			t.Errorf("%s: %+v", name, p)
		}
		wantReason(t, name+": start", p.Start, "/proc cannot be trusted")
		if p := v.process(probe.MaxPID); p.Presence != "missing" {
			t.Errorf("%s: %+v", name, p)
		}
		if p := v.process(otherThread()); p.Presence != "unknown" {
			t.Errorf("%s: a thread is %+v", name, p)
		}
		h := v.host()
		for what, f := range map[string]fact{
			"boot id": h.Boot.ID, "pid namespace": h.Namespaces.PID, "initial": h.Namespaces.PIDInitial,
			"time namespace": h.Namespaces.Time, "procfs": h.ProcFS,
		} {
			wantReason(t, name+": "+what, f, "/proc cannot be trusted")
		}
		if !h.Boot.StartedAt.known() || !h.Machine.Host.known() {
			t.Errorf("%s: %+v", name, h)
		}
		if f := v.found("nested 1"); !strings.Contains(f.Incomplete, "/proc cannot be trusted") {
			t.Errorf("%s: nested %+v", name, f)
		}
		if text := v.selfcheck(); text != "<nil>" {
			t.Errorf("%s: self check: %s", name, text)
		}

		// What was read before it went away stays known.
		v = startView(t, in(unix.CLONE_NEWNS), append([]string{"look"}, args...)...)
		if self, h := v.self(), v.host(); !self.Start.known() || !h.Boot.ID.known() ||
			!h.Namespaces.PID.known() || h.ProcFS.known() {
			t.Errorf("%s: %+v %+v", name, self, h)
		}
	}
	// Without /proc and without pidfd nothing but "missing" can be found out.
	v := startView(t, in(unix.CLONE_NEWNS), "without-pidfd", "chroot "+t.TempDir())
	if p := v.process(os.Getpid()); p.Presence != "unknown" {
		t.Errorf("%+v", p)
	}
	if p := v.process(probe.MaxPID); p.Presence != "missing" {
		t.Errorf("%+v", p)
	}
}

// A folder mounted over a process hides it without any option.
func TestMountOverProcess(t *testing.T) {
	needsRoot(t)
	path := fmt.Sprintf("/proc/%d", os.Getpid())
	v := startView(t, in(unix.CLONE_NEWNS), "private", "mount tmpfs "+path)
	if p := v.process(os.Getpid()); p.Presence != "running" || p.Start.known() {
		t.Errorf("%+v", p)
	}
	wantReason(t, "procfs", v.host().ProcFS, "mounted on "+path)

	// Another process's folder in its place.
	v = startView(t, in(unix.CLONE_NEWNS), "private", "bind /proc/1 "+path)
	p := v.process(os.Getpid())
	if p.Presence != "running" {
		t.Errorf("%+v", p)
	}
	wantReason(t, "start", p.Start, "describes process 1")
}

// The /proc of a namespace below this one, which does not know this process at all.
func TestProcOfInnerNamespace(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	// The inner child mounts its /proc in a mount namespace that both share.
	v := startView(t, in(unix.CLONE_NEWNS), "private", "inner-proc "+dir, "bind "+dir+" /proc")
	wantReason(t, "start", v.self().Start, "no such file")
	p := v.process(1)
	if p.Presence != "running" {
		t.Errorf("%+v", p)
	}
	wantReason(t, "start of 1", p.Start, "does not know this process")
	wantReason(t, "procfs", v.host().ProcFS, "does not know this process")

	// Neither is it believed by who has found out before that the /proc which it covers is ours.
	v = startView(t, in(unix.CLONE_NEWNS), "private", "look", "inner-proc "+dir,
		"bind "+dir+" /proc")
	wantReason(t, "start of 1, after a look", v.process(1).Start, "does not know this process")
}

func TestMachineID(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good, other = "3d1219c7c4c5404aaa1f6d2a48adfda4", "0123456789abcdef0123456789abcdef"
	goodFile, otherFile := write("good", good+"\r\n"), write("other", other)
	none, empty := filepath.Join(dir, "none"), write("empty", "\n")
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, second, id, legacy string }{
		{goodFile, otherFile, good, good},
		{goodFile, none, good, good},
		{none, otherFile, other, other},
		{empty, otherFile, other, ""}, // an empty first file wins for the others
		{write("new", "uninitialized\n"), otherFile, other, "uninitialized"},
		{dir, otherFile, other, other},
		{fifo, otherFile, other, ""},
		{none, none, "", ""},
		{empty, none, "", ""},
		{write("bad", " not an id "), empty, "", "not an id"},
	} {
		m := probe.MachineFrom(c.first, c.second)
		if m.ID.Value != c.id || m.ID.Known != (c.id != "") || m.Legacy != c.legacy {
			t.Errorf("%v: %v, %q", c, m.ID, m.Legacy)
		}
		if !m.ID.Known {
			wantUnknown(t, "machine id", m.ID)
		}
	}
}

func TestHost(t *testing.T) {
	s := probe.NewUncached()
	first, second := s.Host(), s.Host()
	if first.Boot.ID != second.Boot.ID || first.Machine != second.Machine ||
		first.Namespaces != second.Namespaces || first.Kernel != second.Kernel {
		t.Errorf("%+v\n%+v", first, second)
	}
	name, err := os.Hostname()
	if err != nil || first.Machine.Host.Value != name || first.OS != "linux" {
		t.Errorf("host %v, OS %v", first.Machine.Host, first.OS)
	}
	if d := first.Boot.StartedAt.Value.Sub(second.Boot.StartedAt.Value).Abs(); d.Seconds() > 1 {
		t.Errorf("started at %v and %v", first.Boot.StartedAt, second.Boot.StartedAt)
	}
}
