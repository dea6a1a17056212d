package probe

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// ntThread is a thread in a list under construction.
type ntThread struct{ state, reason uint32 }

// buildNTEntry makes one SYSTEM_PROCESS_INFORMATION that stands at address base, as the kernel lays
// it out: the fixed part, the threads, the name. next is 0 for the last entry, else its size and
// what follows it is padding.
func buildNTEntry(
	l ntLayout, base, pid, created uint64, name string, padding int, last bool, threads ...ntThread,
) []byte {
	b := make([]byte, l.size)
	word := func(at int, n uint64) {
		if l.pointer == 4 {
			binary.LittleEndian.PutUint32(b[at:], uint32(n))
		} else {
			binary.LittleEndian.PutUint64(b[at:], n)
		}
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(threads)))
	binary.LittleEndian.PutUint64(b[32:], created)
	word(l.pid, pid)
	for _, t := range threads {
		thread := make([]byte, l.threadSize)
		binary.LittleEndian.PutUint32(thread[l.threadState:], t.state)
		binary.LittleEndian.PutUint32(thread[l.waitReason:], t.reason)
		b = append(b, thread...)
	}
	units := utf16.Encode([]rune(name))
	if len(units) > 0 {
		binary.LittleEndian.PutUint16(b[l.name:], uint16(2*len(units)))
		binary.LittleEndian.PutUint16(b[l.name+2:], uint16(2*len(units)+2))
		word(l.nameBuffer, base+uint64(len(b)))
	}
	for _, u := range append(units, 0) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	b = append(b, make([]byte, padding)...)
	if !last {
		binary.LittleEndian.PutUint32(b, uint32(len(b)))
	}
	return b
}

var ntLayouts = map[string]ntLayout{"32-bit": nt32, "64-bit": nt64}

const ntBase = 0x2a_0010_0000

// buildNTList makes a list with one process of every kind, with entries that are not aligned.
func buildNTList(l ntLayout) ([]byte, uint64, []ntProcess) {
	base := uint64(ntBase)
	if l.pointer == 4 {
		base = 0x00fe_fff0
	}
	want := []ntProcess{
		{0, 0, 2, "", "running"}, // the idle process
		{4, 133_000_000_000_000_000, 3, "System", "sleeping"},
		{1236, 133_000_000_000_000_001, 2, "stopped.exe", "stopped"},
		{1240, 133_000_000_000_000_002, 2, "half stopped.exe", "sleeping"},
		{1244, 133_000_000_000_000_003, 0, "exited.exe", ""},
		{1248, 133_000_000_000_000_004, 2, "wine.exe", ""},
		{4294967292, 1<<64 - 1, 2, "größer 🐢.exe", "stopped"},
	}
	threads := [][]ntThread{
		{{2, 0}, {2, 0}},
		{{5, 0}, {5, 15}, {1, 5}},
		{{5, 5}, {5, 12}},
		{{5, 5}, {5, 6}},
		nil,
		{{0, 0}, {0, 0}},
		{{4, 0}, {5, 5}},
	}
	var b []byte
	for i, p := range want {
		b = append(b, buildNTEntry(l, base+uint64(len(b)), p.pid, p.created, p.name, i,
			i == len(want)-1, threads[i]...)...)
	}
	return b, base, want
}

func TestParseNTProcesses(t *testing.T) {
	for name, l := range ntLayouts {
		b, base, want := buildNTList(l)
		got, err := parseNTProcesses(b, base, l)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, got, want)
		}
		// however the buffer is cut, and whatever lies behind it
		for n := range b {
			if got, err := parseNTProcesses(b[:n:n], base, l); err == nil &&
				len(got) == len(want) && n < len(b)-50 {
				t.Errorf("%s: cut after %d bytes: %+v", name, n, got)
			}
		}
		if got, err := parseNTProcesses(append(slices.Clone(b), 1, 2, 3), base, l); err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("%s: with a tail: %v, %+v", name, err, got)
		}
	}
}

// A name is only ever taken from the buffer, and from its own entry.
func TestParseNTProcessesNames(t *testing.T) {
	for name, l := range ntLayouts {
		one := func(change func(b []byte)) string {
			b := buildNTEntry(l, 0x10000, 1236, 5, "name.exe", 8, true, ntThread{5, 5})
			change(b)
			list, err := parseNTProcesses(b, 0x10000, l)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %+v", name, err, list)
			}
			return list[0].name
		}
		if got := one(func([]byte) {}); got != "name.exe" {
			t.Errorf("%s: %q", name, got)
		}
		put := func(at uint64) func([]byte) {
			return func(b []byte) {
				if l.pointer == 4 {
					binary.LittleEndian.PutUint32(b[l.nameBuffer:], uint32(at))
				} else {
					binary.LittleEndian.PutUint64(b[l.nameBuffer:], at)
				}
			}
		}
		for what, change := range map[string]func([]byte){
			"null":        put(0),
			"before":      put(0x10000 - 2),
			"in the head": put(0x10000 + 8),
			"behind":      put(0x10000 + 4096),
			"half behind": put(0x10000 + uint64(l.size+l.threadSize) + 20),
			"far away":    put(1<<64 - 2),
			"odd length":  func(b []byte) { b[l.name] = 15 },
			"too long":    func(b []byte) { b[l.name+1] = 0xff },
			"no length":   func(b []byte) { b[l.name] = 0 },
		} {
			if got := one(change); got != "" {
				t.Errorf("%s: a name that lies %s is %q", name, what, got)
			}
		}
	}
}

func TestParseNTProcessesRefuses(t *testing.T) {
	for name, l := range ntLayouts {
		for what, change := range map[string]func(b []byte){
			"next inside":   func(b []byte) { binary.LittleEndian.PutUint32(b, uint32(l.size-1)) },
			"next behind":   func(b []byte) { binary.LittleEndian.PutUint32(b, 1<<31) },
			"next at end":   func(b []byte) { binary.LittleEndian.PutUint32(b, uint32(len(b))) },
			"many threads":  func(b []byte) { binary.LittleEndian.PutUint32(b[4:], 1<<30) },
			"thread excess": func(b []byte) { binary.LittleEndian.PutUint32(b[4:], 3) },
		} {
			b := buildNTEntry(l, 0x10000, 1236, 5, "name.exe", 8, true, ntThread{5, 5})
			change(b)
			if list, err := parseNTProcesses(b, 0x10000, l); err == nil {
				t.Errorf("%s: %s: %+v", name, what, list)
			}
		}
		if list, err := parseNTProcesses(nil, 0, l); err == nil {
			t.Errorf("%s: nothing: %+v", name, list)
		}
	}
}

// captured reads bytes as a kernel gave them: the address of the buffer, 8 bytes, and the buffer.
func captured(t testing.TB, name string) ([]byte, uint64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "nt", name))
	if err != nil {
		t.Fatal(err)
	}
	return b[8:], binary.LittleEndian.Uint64(b)
}

// The list of Wine 10.0 for a 64-bit program: entries are not aligned, thread states are all 0.
func TestParseNTProcessesCaptured(t *testing.T) {
	b, base := captured(t, "processes-wine10-amd64.bin")
	list, err := parseNTProcesses(b, base, nt64)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, p := range list {
		names[p.name]++
		if p.pid == 0 || p.pid%4 != 0 || p.threads == 0 || p.state != "" {
			t.Errorf("%+v", p)
		}
		if at, err := wallTime(p.created); err != nil || at.Year() != 2026 {
			t.Errorf("%+v: created %v, %v", p, at, err)
		}
	}
	if len(list) != 7 || names["services.exe"] != 1 || names["winedevice.exe"] != 2 {
		t.Errorf("%v", names)
	}
	// A program that takes the wrong layout must not get away with it.
	if list, err := parseNTProcesses(b, base, nt32); err == nil {
		for _, p := range list {
			if strings.HasSuffix(p.name, ".exe") {
				t.Errorf("as 32-bit: %+v", p)
			}
		}
	}
}

func FuzzParseNTProcesses(f *testing.F) {
	for _, l := range ntLayouts {
		b, base, _ := buildNTList(l)
		f.Add(b, base, l.pointer == 8)
	}
	b, base := captured(f, "processes-wine10-amd64.bin")
	f.Add(b, base, true)
	f.Fuzz(func(t *testing.T, b []byte, base uint64, wide bool) {
		l := nt32
		if wide {
			l = nt64
		}
		// Cut to capacity: whatever is read behind the buffer panics.
		list, err := parseNTProcesses(slices.Clip(b), base, l)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d processes, %v", len(list), err)
		}
		room := 0
		for _, p := range list {
			room += l.size + p.threads*l.threadSize
			if p.threads < 0 || len(p.name) > 4*len(b) {
				t.Errorf("%+v", p)
			}
		}
		if room > len(b) {
			t.Errorf("%d bytes of processes in a buffer of %d", room, len(b))
		}
	})
}

func TestParseNTProcessIDs(t *testing.T) {
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 4, 0, 0, 0, 0, 0, 0}
	if ids, err := parseNTProcessIDs(one, nt64); err != nil || !slices.Equal(ids, []uint64{1236}) {
		t.Errorf("64-bit: %v, %v", ids, err)
	}
	two := []byte{2, 0, 0, 0, 0xd4, 4, 0, 0, 8, 0, 0, 0}
	if ids, err := parseNTProcessIDs(two, nt32); err != nil ||
		!slices.Equal(ids, []uint64{1236, 8}) {
		t.Errorf("32-bit: %v, %v", ids, err)
	}
	for _, b := range [][]byte{nil, {1, 0, 0}, {2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0},
		{255, 255, 255, 255, 4, 0, 0, 0}} {
		if ids, err := parseNTProcessIDs(b, nt32); err == nil {
			t.Errorf("%v: %v", b, ids)
		}
	}
}

func FuzzParseNTProcessIDs(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 4, 0, 0, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		l := nt32
		if wide {
			l = nt64
		}
		ids, err := parseNTProcessIDs(slices.Clip(b), l)
		if err == nil && len(ids) != int(binary.LittleEndian.Uint32(b)) {
			t.Errorf("%d of %v", len(ids), b)
		}
	})
}
