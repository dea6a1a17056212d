package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeKernel answers for one system from a list of structures.
type fakeKernel struct {
	table  map[int][]byte
	serial map[int]uint64
	kill   map[int]error // not listed: as the table says
	err    error         // of reading the table
	hides  error
	boots  []kstart // one after the other; the last one again and again
	asked  int      // how often about the table
	onAsk  func()
}

var errSandbox = errors.New("operation not permitted")

func (f *fakeKernel) system(os string, rule startRule,
	decode func([]byte, binary.ByteOrder) (kinfo, error)) *tableSystem {
	return &tableSystem{kernel: kernel{
		os: os, source: "table of %d", rule: rule, threadNumbers: os == "freebsd",
		decode: func(b []byte) (kinfo, error) { return decode(b, binary.LittleEndian) },
		entry: func(pid int) ([]byte, error) {
			f.asked++
			if f.onAsk != nil {
				f.onAsk()
			}
			return f.table[pid], f.err
		},
		kill: func(pid int) error {
			if err, listed := f.kill[pid]; listed {
				return err
			}
			if _, there := f.table[pid]; !there {
				return errNoProcess
			}
			return nil
		},
		unique: func(pid int) (uint64, error) {
			if n, ok := f.serial[pid]; ok {
				return n, nil
			}
			return 0, errNoProcess
		},
		hides: func() error { return f.hides },
		boot: func() (kstart, error) {
			if len(f.boots) == 0 {
				return kstart{}, errSandbox
			}
			b := f.boots[0]
			if len(f.boots) > 1 {
				f.boots = f.boots[1:]
			}
			return b, nil
		},
		facts: func() hostFacts {
			return hostFacts{
				release: Known("25.0.0", "fake"),
				boot:    Known("7D0A1B5E-6C0F-4E53-8A0D-0F6F8A3B1C2D", "fake"),
				machine: Known("01234567-89AB-4CDE-8F01-23456789ABCD", "fake"),
				legacy:  "01234567-89AB-4CDE-8F01-23456789ABCD",
				initial: Known(true, "fake"),
			}
		},
		filesystem: func(uintptr) Filesystem {
			return filesystemOf(os, "fake", mount{"apfs", true, [2]int32{16777234, 26}}, nil)
		},
	}}
}

func xnuEntry(t testing.TB, pid, stat int, flag int32, sec, usec int64) []byte {
	p := xnuProc{PID: int32(pid), Stat: int8(stat), Flag: flag}
	p.Start.Sec, p.Start.Usec = sec, usec
	name(p.Comm[:], "importer")
	return bytesOf(t, binary.LittleEndian, &p)
}

func TestTableSystem(t *testing.T) {
	entry := func(stat int, flag int32) []byte {
		return xnuEntry(t, 4711, stat, flag, fixtureSec, fixtureUsec)
	}
	const start = "usec:1796020767.790123"
	for what, tt := range map[string]struct {
		kernel   fakeKernel
		presence Presence
		state    string // or a part of the reason why it is not known
		start    string
		serial   uint64
		says     string // in the readings
	}{
		"running": {fakeKernel{table: map[int][]byte{4711: entry(2, 0)},
			serial: map[int]uint64{4711: 99}}, Running, "running", start, 99, "running, start usec:"},
		"somebody else's": {fakeKernel{table: map[int][]byte{4711: entry(3, 0)},
			serial: map[int]uint64{4711: 99}}, Running, "sleeping", start, 99, "sleeping"},
		"stopped": {fakeKernel{table: map[int][]byte{4711: entry(4, 0)}}, Running, "stopped", start,
			0, "stopped"},
		"traced": {fakeKernel{table: map[int][]byte{4711: entry(4, pTraced)}}, Running, "traced",
			start, 0, "traced"},
		"ending": {fakeKernel{table: map[int][]byte{4711: entry(2, 0x2000)}}, Running, "running",
			start, 0, "running"},
		"zombie": {fakeKernel{table: map[int][]byte{4711: entry(5, 0)},
			serial: map[int]uint64{4711: 99}}, Exited, "zombie", start, 99, "not reaped"},
		"a state of the future": {fakeKernel{table: map[int][]byte{4711: entry(9, 0)}}, Running,
			"state 9 is not a known one", start, 0, "in state 9"},
		"missing": {fakeKernel{}, Missing, "no such process", "", 0, "no such process"},
		"missing, hidden perhaps": {fakeKernel{hides: errHidden}, PresenceUnknown,
			"no such process", "", 0, "may be hidden"},
		"hidden from the table": {fakeKernel{kill: map[int]error{4711: nil}}, PresenceUnknown,
			"no such process", "", 0, "a process has this number"},
		"missing, kill refused": {fakeKernel{kill: map[int]error{4711: errSandbox}},
			PresenceUnknown, "no such process", "", 0, "not permitted"},
		"table refused": {fakeKernel{err: errSandbox}, PresenceUnknown, "not permitted", "", 0,
			"not permitted"},
		"table says ESRCH": {fakeKernel{err: errNoProcess}, Missing, "no such process", "", 0,
			"no such process"},
		"another layout": {fakeKernel{table: map[int][]byte{4711: entry(2, 0)[:492]}},
			PresenceUnknown, "492 bytes", "", 0, "492 bytes"},
		"another process": {fakeKernel{table: map[int][]byte{4711: xnuEntry(t, 4712, 2, 0, 1, 1)}},
			PresenceUnknown, "answered about 4712", "", 0, "answered about 4712"},
	} {
		p := tt.kernel.system("darwin", startFixed, decodeXNU).Process(4711)
		if p.PID != 4711 || p.Presence != tt.presence ||
			!strings.Contains(p.State.String(), tt.state) || p.Start.Known != (tt.start != "") ||
			p.Start.Known && string(p.Start.Value) != tt.start ||
			p.Serial.Known != (tt.serial != 0) || p.Serial.Known && p.Serial.Value != tt.serial {
			t.Errorf("%s: %+v", what, p)
		}
		if !p.Start.Known && p.Start.Err == nil || !p.Serial.Known && p.Serial.Err == nil ||
			!p.PIDFD.Known && p.PIDFD.Err == nil || !p.Threads.Known && p.Threads.Err == nil {
			t.Errorf("%s: unknown without a reason: %+v", what, p)
		}
		if !slices.ContainsFunc(p.Readings, func(r Reading) bool {
			return strings.Contains(r.Said+r.Err, tt.says)
		}) {
			t.Errorf("%s: no reading says %q: %+v", what, tt.says, p.Readings)
		}
		if p.Start.Known && !p.StartedAt.Value.Equal(time.UnixMilli(1796020767790)) {
			t.Errorf("%s: started at %v", what, p.StartedAt)
		}
	}
	big := uint32(1 << 31) // negative where int has 32 bits
	for _, pid := range []int{0, -1, -4711, math.MinInt, int(big)} {
		f := fakeKernel{}
		if p := f.system("darwin", startFixed, decodeXNU).Process(pid); f.asked != 0 ||
			p.Presence != PresenceUnknown || len(p.Readings) != 1 {
			t.Errorf("%d: asked %d times, %+v", pid, f.asked, p)
		}
	}
}

// A number that changes hands while it is looked at is looked at once more, and no answer is put
// together from two processes.
func TestTableSystemReuse(t *testing.T) {
	old, young := xnuEntry(t, 4711, 5, 0, 1000, 1), xnuEntry(t, 4711, 2, 0, 2000, 2)
	f := &fakeKernel{table: map[int][]byte{4711: old}, serial: map[int]uint64{4711: 10}}
	f.onAsk = func() {
		f.table[4711], f.serial[4711] = young, 20
	}
	p := f.system("darwin", startFixed, decodeXNU).Process(4711)
	if p.Presence != Running || p.Start.Value != "usec:2000.000002" || p.Serial.Value != 20 ||
		f.asked != 2 {
		t.Errorf("asked %d times: %+v", f.asked, p)
	}
	f.onAsk = func() { f.serial[4711]++ } // for ever
	p = f.system("darwin", startFixed, decodeXNU).Process(4711)
	if p.Presence != Running || !p.Start.Known || p.Serial.Known {
		t.Errorf("%+v", p)
	}
	// It ended, and was there for the table.
	f = &fakeKernel{table: map[int][]byte{}, kill: map[int]error{4711: nil}}
	f.onAsk = func() {
		if f.asked == 2 {
			f.table[4711], f.kill = young, nil
		}
	}
	p = f.system("darwin", startFixed, decodeXNU).Process(4711)
	if p.Presence != Running || p.Start.Value != "usec:2000.000002" {
		t.Errorf("%+v", p)
	}
}

// On FreeBSD the start moves with the clock, and its distance from the boot does not.
func TestTableSystemStartOfBoot(t *testing.T) {
	f := &fakeKernel{table: map[int][]byte{}}
	s := f.system("freebsd", startOfBoot, decodeFreeBSD)
	entry := func(clock int64) {
		p := freeProc{StructSize: 1088, PID: 4711, Stat: 3, Threads: 1}
		p.Start.Sec, p.Start.Usec = fixtureSec+clock, 100
		f.table[4711] = bytesOf(t, binary.LittleEndian, &p)
	}
	boot := func(clock int64) kstart { return kstart{true, fixtureSec - 600 + clock, 999999} }
	const want = Start("uptime:599000101")
	for _, clock := range []int64{0, 3600, -3600, 86400 * 365} {
		entry(clock)
		f.boots = []kstart{boot(clock)}
		p := s.Process(4711)
		if p.Start.Value != want || !p.Start.Known || p.Start.Value.Kind() != "uptime" ||
			p.StartedAt.Value.Unix() != fixtureSec+clock || p.Threads.Value != 1 {
			t.Errorf("clock %+d: %+v", clock, p)
		}
	}
	// Set while it is read: asked again, and never an answer that is off.
	entry(0)
	f.boots = []kstart{boot(-5), boot(0), boot(0), boot(0)}
	if p := s.Process(4711); p.Start.Value != want {
		t.Errorf("%+v", p)
	}
	f.boots = []kstart{boot(1), boot(2), boot(3), boot(4), boot(5), boot(6), boot(7), boot(8)}
	if p := s.Process(4711); p.Start.Known || p.Presence != Running {
		t.Errorf("%+v", p)
	}
	f.boots = []kstart{{true, fixtureSec + 10, 0}}
	if p := s.Process(4711); p.Start.Known {
		t.Errorf("before the boot: %+v", p)
	}
	f.boots = nil
	if p := s.Process(4711); p.Start.Known || p.Presence != Running {
		t.Errorf("without a boot: %+v", p)
	}
	// The number of a thread finds its process.
	f.table[100042] = f.table[4711]
	if p := s.Process(100042); p.Presence != ThreadOnly || p.Start.Known {
		t.Errorf("%+v", p)
	}
}

// Where the start moves with the clock and nothing else is fixed, there is none.
func TestTableSystemStartMoves(t *testing.T) {
	p := openProc{PID: 4711, Stat: 4, Valid: 1, StartSec: fixtureSec, StartUsec: 5}
	f := &fakeKernel{table: map[int][]byte{4711: bytesOf(t, binary.LittleEndian, &p)}}
	s := f.system("openbsd", startMoves, decodeOpenBSD)
	got := s.Process(4711)
	if got.Start.Known || !errors.Is(got.Start.Err, errors.ErrUnsupported) ||
		got.Presence != Running || got.State.Value != "stopped" || !got.StartedAt.Known {
		t.Errorf("%+v", got)
	}
}

// What cannot change is remembered, and kept when the table goes away.
func TestTableSystemSelf(t *testing.T) {
	pid := os.Getpid()
	f := &fakeKernel{table: map[int][]byte{pid: xnuEntry(t, pid, 2, 0, fixtureSec, fixtureUsec)},
		serial: map[int]uint64{pid: 5}, boots: []kstart{{true, fixtureSec - 60, 0}}}
	s := f.system("darwin", startFixed, decodeXNU)
	if err := SelfCheck(s); livingParent() > 0 &&
		(err == nil || !strings.Contains(err.Error(), "parent")) {
		t.Errorf("the parent is not in the table, and SelfCheck says %v", err)
	}
	first := s.Self()
	f.table, f.serial = nil, nil
	again := s.Self()
	for _, p := range []Process{first, again} {
		if p.PID != pid || p.Presence != Running || p.Start.Value != "usec:1796020767.790123" ||
			p.Serial.Value != 5 || len(p.Readings) == 0 {
			t.Errorf("%+v", p)
		}
	}
	h := s.Host()
	if h.OS != "darwin" || h.Boot.StartedAt.Value.Unix() != fixtureSec-60 ||
		h.Machine.Legacy == "" || !h.Machine.Host.Known || !h.Namespaces.PIDInitial.Value ||
		h.Namespaces.PID.Err == nil || h.ProcFS.Err == nil {
		t.Errorf("%+v", h)
	}
	if n := s.Nested(7); len(n.Found) != 0 || n.Incomplete != nil {
		t.Errorf("%+v", n)
	}
	if o := s.Openers(0); o.Incomplete == nil {
		t.Errorf("%+v", o)
	}
	if fs := s.Filesystem(0); !fs.Local || fs.ID.Value != "010000120000001a" {
		t.Errorf("%+v", fs)
	}
	f.boots = []kstart{{true, -1, 0}}
	if h := s.Host(); h.Boot.StartedAt.Known {
		t.Errorf("%+v", h.Boot)
	}
}

// A filesystem counts as local when the kernel says so and its type is known to be.
func TestFilesystemOf(t *testing.T) {
	device := func() (string, error) { return "1:7", nil }
	for _, tt := range []struct {
		os    string
		mount mount
		want  string
	}{
		{"darwin", mount{"apfs", true, [2]int32{16777234, 26}}, "apfs local 010000120000001a"},
		{"darwin", mount{"apfs", false, [2]int32{1, -1}}, "apfs shared 00000001ffffffff"},
		{"darwin", mount{"macfuse", true, [2]int32{1, 1}}, "macfuse shared 0000000100000001"},
		{"darwin", mount{"smbfs", true, [2]int32{0, 1}}, "smbfs shared 0000000000000001"},
		{"darwin", mount{"nfs", false, [2]int32{}}, "nfs shared dev:1:7"},
		{"darwin", mount{"ufs", true, [2]int32{2, 2}}, "ufs shared 0000000200000002"},
		{"freebsd", mount{"zfs", true, [2]int32{2, 2}}, "zfs local 0000000200000002"},
		{"freebsd", mount{"nullfs", true, [2]int32{2, 2}}, "nullfs shared 0000000200000002"},
		{"openbsd", mount{"ffs", true, [2]int32{2, 2}}, "ffs local 0000000200000002"},
		{"netbsd", mount{"puffs|ssh", true, [2]int32{2, 2}}, "puffs|ssh shared 0000000200000002"},
		{"dragonfly", mount{"hammer2", true, [2]int32{2, 2}}, "hammer2 local 0000000200000002"},
		{"plan9", mount{"ufs", true, [2]int32{2, 2}}, "ufs shared 0000000200000002"},
	} {
		fs := filesystemOf(tt.os, "fake", tt.mount, device)
		where := map[bool]string{true: "local", false: "shared"}[fs.Local]
		if got := fmt.Sprintf("%s %s %s", fs.Type, where, fs.ID); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.os, got, tt.want)
		}
	}
	fs := filesystemOf("darwin", "fake", mount{}, func() (string, error) { return "", errSandbox })
	if fs.Type.Known || fs.ID.Known || fs.Local {
		t.Errorf("%+v", fs)
	}
}

// FreeBSD says "no such process" about one that this process may not see.
func TestHidden(t *testing.T) {
	absent := errors.New("no such sysctl")
	open := map[string]uint32{"security.jail.jailed": 0, "security.bsd.see_other_uids": 1,
		"security.bsd.see_other_gids": 1, "security.bsd.see_jail_proc": 1}
	for what, tt := range map[string]struct {
		name  string
		value uint32
		err   error
		want  string
	}{
		"nothing":         {},
		"a jail":          {name: "security.jail.jailed", value: 1, want: "jailed is 1"},
		"others":          {name: "security.bsd.see_other_uids", want: "see_other_uids is 0"},
		"other groups":    {name: "security.bsd.see_other_gids", want: "see_other_gids is 0"},
		"jails":           {name: "security.bsd.see_jail_proc", want: "see_jail_proc is 0"},
		"before 12":       {name: "security.bsd.see_jail_proc", err: absent},
		"a policy":        {name: "security.mac.seeotheruids.enabled", value: 1, want: "enabled is 1"},
		"a policy, off":   {name: "security.mac.partition.enabled"},
		"unreadable":      {name: "security.mac.mls.enabled", err: errSandbox, want: "not permitted"},
		"jail unreadable": {name: "security.jail.jailed", err: absent, want: "no such sysctl"},
	} {
		err := hiddenBy(func(name string) (uint32, error) {
			if name == tt.name {
				return tt.value, tt.err
			}
			if v, ok := open[name]; ok {
				return v, nil
			}
			return 0, absent
		}, absent)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

func TestUUID(t *testing.T) {
	const good = "7D0A1B5E-6C0F-4E53-8A0D-0F6F8A3B1C2D"
	for text, ok := range map[string]bool{
		good: true, strings.ToLower(good): true, "": false, good[1:]: false, good + "0": false,
		good + "\n": false, strings.ReplaceAll(good, "-", ""): false,
		"00000000-0000-0000-0000-000000000000": false, strings.Replace(good, "7", "G", 1): false,
		"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF": false, "7D0A1B5E-6C0F-4E53-8A0D-0F6F8A3B1C-D": false,
	} {
		if id, err := parseUUID(text); (err == nil) != ok || ok && id != good {
			t.Errorf("%q: %q, %v", text, id, err)
		}
	}
	b := []byte("\x7d\x0a\x1b\x5e\x6c\x0f\x4e\x53\x8a\x0d\x0f\x6f\x8a\x3b\x1c\x2d")
	if id, err := uuidOf(b); err != nil || id != good {
		t.Errorf("%q, %v", id, err)
	}
	for _, b := range [][]byte{nil, b[:15], append(b, 0), make([]byte, 16)} {
		if id, err := uuidOf(b); err == nil {
			t.Errorf("%x: %q", b, id)
		}
	}
}
