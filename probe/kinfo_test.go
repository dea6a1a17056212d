package probe

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// systemTable is one system's structure with everything about process 4711 in it.
type systemTable struct {
	decode func([]byte, binary.ByteOrder) (kinfo, error)
	size   int
	// make lays out a process in a state, or with a flag
	make    func(t testing.TB, order binary.ByteOrder, stat int, flag int32) []byte
	threads int
	states  map[int]string // ":exited" where no thread runs
	traces  bool           // says who is traced
}

const (
	fixtureSec  = 1796020767
	fixtureUsec = 790123
	fixtureName = ") Z 1 (\n\x80"
)

var systemTables = map[string]systemTable{
	"xnu": {decodeXNU, 648, func(t testing.TB, o binary.ByteOrder, stat int, flag int32) []byte {
		p := xnuProc{PID: 4711, OPPID: 1, Stat: int8(stat), Flag: flag, XStat: 9}
		p.Start.Sec = fixtureSec
		p.Start.Usec = fixtureUsec | 0x5a5a5a5a<<32 // padding, which may hold anything
		if o == binary.BigEndian {
			p.Start.Usec = fixtureUsec<<32 | 0x5a5a5a5a
		}
		name(p.Comm[:], fixtureName)
		return bytesOf(t, o, &p)
	}, -1, map[int]string{
		1: "idle", 2: "running", 3: "sleeping", 4: "stopped", 5: "zombie:exited", 0: "", 6: "",
		-1: "", 127: "",
	}, true},
	"freebsd": {decodeFreeBSD, 1088,
		func(t testing.TB, o binary.ByteOrder, stat int, flag int32) []byte {
			p := freeProc{StructSize: 1088, PID: 4711, PPID: 1, Stat: int8(stat), Nice: 5,
				Flag: int64(flag), Threads: 3, TID: 100001}
			p.Start.Sec, p.Start.Usec = fixtureSec, fixtureUsec
			name(p.Comm[:], fixtureName)
			return bytesOf(t, o, &p)
		}, 3, map[int]string{
			1: "idle", 2: "running", 3: "sleeping", 4: "stopped", 5: "zombie:exited",
			6: "sleeping", 7: "disk-sleep", 0: "", 8: "", -128: "",
		}, true},
	"openbsd": {decodeOpenBSD, 616,
		func(t testing.TB, o binary.ByteOrder, stat int, flag int32) []byte {
			p := openProc{PID: 4711, PPID: 1, Stat: int8(stat), Flag: flag, Valid: 1,
				StartSec: fixtureSec, StartUsec: fixtureUsec, TID: 104711}
			name(p.Comm[:], fixtureName)
			return bytesOf(t, o, &p)
		}, -1, map[int]string{
			1: "idle", 2: "running", 3: "sleeping", 4: "stopped", 5: "zombie:exited",
			6: "dead:exited", 7: "running", 0: "", 8: "",
		}, false},
	"netbsd": {decodeNetBSD, 640,
		func(t testing.TB, o binary.ByteOrder, stat int, flag int32) []byte {
			p := netProc{PID: 4711, PPID: 1, Stat: 3, RealStat: uint64(stat), Flag: flag, Valid: 1,
				StartSec: fixtureSec, StartUsec: fixtureUsec, Threads: 2, Running: 1}
			name(p.Comm[:], fixtureName)
			return bytesOf(t, o, &p)
		}, 2, map[int]string{
			1: "idle", 2: "sleeping", 3: "running", 4: "stopped", 5: "zombie:exited",
			6: "dead:exited", 0: "", 7: "", 300: "",
		}, true},
	"dragonfly": {decodeDragonFly, 632,
		func(t testing.TB, o binary.ByteOrder, stat int, flag int32) []byte {
			p := flyProc{PID: 4711, PPID: 1, Stat: int32(stat), Flags: flag}
			p.Start.Sec, p.Start.Usec = fixtureSec, fixtureUsec
			name(p.Comm[:], fixtureName)
			return bytesOf(t, o, &p)
		}, -1, map[int]string{
			1: "idle", 2: "running", 3: "stopped", 4: "zombie:exited", 5: "running", 0: "", 6: "",
		}, false},
}

// Every state of every system, in both byte orders.
func TestDecodeTables(t *testing.T) {
	for system, s := range systemTables {
		for _, order := range orders {
			for stat, want := range s.states {
				k, err := s.decode(s.make(t, order, stat, 0), order)
				word, exited := strings.CutSuffix(want, ":exited")
				if err != nil || k.state != word || k.exited != exited {
					t.Errorf("%s, state %d: %q, exited %v, %v; want %q", system, stat, k.state,
						k.exited, err, want)
				}
				if k.pid != 4711 || k.threads != s.threads || k.comm != fixtureName ||
					k.start != (kstart{true, fixtureSec, fixtureUsec}) {
					t.Errorf("%s, state %d: %+v", system, stat, k)
				}
			}
			if !s.traces {
				continue
			}
			stopped, err := s.decode(s.make(t, order, 4, pTraced), order)
			if err != nil || stopped.state != "traced" || stopped.exited {
				t.Errorf("%s, traced: %+v, %v", system, stopped, err)
			}
		}
	}
}

// The bytes in testdata are what these structures look like, and stay so.
func TestTableFixtures(t *testing.T) {
	for system, s := range systemTables {
		file := filepath.Join("testdata", "kinfo", system+".bin")
		made := s.make(t, binary.LittleEndian, 2, 0)
		if os.Getenv("PROBATE_WRITE_FIXTURES") != "" {
			if err := os.WriteFile(file, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(file)
		if err != nil || string(kept) != string(made) || len(kept) != s.size {
			t.Errorf("%s: %d bytes, made are %d, %v", file, len(kept), len(made), err)
		}
	}
}

// A kernel with another layout, half an answer, and numbers that no honest kernel says.
func TestDecodeTablesRefuses(t *testing.T) {
	for system, s := range systemTables {
		good := s.make(t, binary.LittleEndian, 2, 0)
		for _, n := range []int{0, 1, 4, 72, 231, 500, s.size - 1, s.size + 1, 2 * s.size} {
			b := append(append([]byte(nil), good...), good...)[:n]
			if k, err := s.decode(b, binary.LittleEndian); err == nil &&
				!(system == "dragonfly" && n >= flyLeast) {
				t.Errorf("%s, %d bytes: %+v", system, n, k)
			}
		}
		all := make([]byte, s.size)
		for i := range all {
			all[i] = 0xff
		}
		if k, err := s.decode(all, binary.LittleEndian); err == nil {
			t.Errorf("%s, all ones: %+v", system, k)
		}
	}
	for what, change := range map[string]func(*xnuProc){
		"negative pid":     func(p *xnuProc) { p.PID = -1 },
		"a million µs":     func(p *xnuProc) { p.Start.Usec = 1e6 },
		"negative µs":      func(p *xnuProc) { p.Start.Usec = -1 },
		"negative seconds": func(p *xnuProc) { p.Start.Sec = -1 },
		"the year 10000":   func(p *xnuProc) { p.Start.Sec = math.MaxInt64 },
	} {
		p := xnuProc{PID: 4711, Stat: 2}
		p.Start.Sec, p.Start.Usec = fixtureSec, fixtureUsec
		change(&p)
		b := bytesOf(t, binary.LittleEndian, &p)
		if k, err := decodeXNU(b, binary.LittleEndian); err == nil {
			t.Errorf("%s: %+v", what, k)
		}
	}
	for what, change := range map[string]func(*freeProc){
		"another size":   func(p *freeProc) { p.StructSize = 1096 },
		"another layout": func(p *freeProc) { p.Layout = 1 },
		"threads":        func(p *freeProc) { p.Threads = -7 },
	} {
		p := freeProc{StructSize: 1088, PID: 4711}
		change(&p)
		b := bytesOf(t, binary.LittleEndian, &p)
		if k, err := decodeFreeBSD(b, binary.LittleEndian); err == nil {
			t.Errorf("%s: %+v", what, k)
		}
	}
}

// NetBSD and OpenBSD say whether the start is there at all: not of a zombie.
func TestDecodeWithoutStart(t *testing.T) {
	n := netProc{PID: 7, RealStat: 5, StartSec: 5}
	k, err := decodeNetBSD(bytesOf(t, binary.LittleEndian, &n), binary.LittleEndian)
	if err != nil || k.start.known || !k.exited {
		t.Errorf("%+v, %v", k, err)
	}
	o := openProc{PID: 7, Stat: 5, StartSec: math.MaxUint64}
	k, err = decodeOpenBSD(bytesOf(t, binary.LittleEndian, &o), binary.LittleEndian)
	if err != nil || k.start.known || !k.exited {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestDecodeUnique(t *testing.T) {
	for _, order := range orders {
		u := xnuUnique{UniqueID: 123456789012, ParentID: 1, Version: 77}
		id, err := decodeXNUUnique(bytesOf(t, order, &u), order)
		if err != nil || id != 123456789012 {
			t.Errorf("%d, %v", id, err)
		}
		for _, bad := range []uint64{0, 1 << 63, math.MaxUint64} {
			u.UniqueID = bad
			if id, err := decodeXNUUnique(bytesOf(t, order, &u), order); err == nil {
				t.Errorf("%d is taken for %d", bad, id)
			}
		}
		for _, n := range []int{0, 16, 24, 55} {
			if id, err := decodeXNUUnique(bytesOf(t, order, &u)[:n], order); err == nil {
				t.Errorf("%d bytes are taken for %d", n, id)
			}
		}
	}
}

// Any bytes are an answer or an error: no panic, and nothing outside of the range of its kind.
func FuzzDecodeTables(f *testing.F) {
	for system, s := range systemTables {
		kept, err := os.ReadFile(filepath.Join("testdata", "kinfo", system+".bin"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kept)
		f.Add(kept[:len(kept)-1])
		f.Add(s.make(f, binary.BigEndian, 5, pTraced))
	}
	f.Add(bytesOf(f, binary.LittleEndian, &xnuUnique{UniqueID: 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, order := range orders {
			for system, s := range systemTables {
				k, err := s.decode(b, order)
				if err != nil {
					if k != (kinfo{}) {
						t.Errorf("%s: %v, and yet %+v", system, err, k)
					}
					continue
				}
				start := Start("")
				sys := tableSystem{kernel: kernel{rule: startFixed, source: "%d"}}
				if fact := sys.startOf(k, kstart{}, nil, ""); fact.Known {
					start = fact.Value
				}
				if k.pid < 0 || k.threads < -1 || strings.ContainsRune(k.comm, 0) ||
					k.exited && k.state != "zombie" && k.state != "dead" ||
					start != "" && !start.Valid() || k.start.known != (start != "") {
					t.Errorf("%s: %+v, start %q", system, k, start)
				}
			}
			if id, err := decodeXNUUnique(b, order); err == nil && (id == 0 || len(b) != 56) {
				t.Errorf("unique number %d of %d bytes", id, len(b))
			}
		}
	})
}
