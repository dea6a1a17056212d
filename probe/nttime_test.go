package probe

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestWallTime(t *testing.T) {
	for filetime, want := range map[uint64]string{
		116444736000000000:  "1970-01-01T00:00:00Z",
		134405130333410790:  "2026-11-30T11:50:33.341079Z",
		1:                   "1601-01-01T00:00:00.0000001Z",
		9223372036854775807: "30828-09-14T02:48:05.4775807Z",
	} {
		got, err := wallTime(filetime)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%d: %v, %v; want %s", filetime, got.UTC(), err, want)
		}
	}
	for _, filetime := range []uint64{0, 1 << 63, 1<<64 - 1} {
		if got, err := wallTime(filetime); err == nil {
			t.Errorf("%d: %v", filetime, got)
		}
	}
}

func TestFileTime(t *testing.T) {
	s := FileTime(134405130333410790)
	n, ok := fileTimeOf(s)
	if s != "filetime:134405130333410790" || !s.Valid() || s.Kind() != "filetime" || !ok ||
		n != 134405130333410790 {
		t.Errorf("%s: %d, %v", s, n, ok)
	}
	for _, s := range []Start{"", "ticks:5", "filetime:", "filetime:-1",
		"filetime:99999999999999999999"} {
		if n, ok := fileTimeOf(s); ok {
			t.Errorf("%q: %d", s, n)
		}
	}
}

// timeOfDay makes SYSTEM_TIMEOFDAY_INFORMATION.
func timeOfDay(boot, now, bias int64) []byte {
	b := make([]byte, ntTimeOfDaySize)
	binary.LittleEndian.PutUint64(b, uint64(boot))
	binary.LittleEndian.PutUint64(b[8:], uint64(now))
	binary.LittleEndian.PutUint64(b[32:], uint64(bias))
	return b
}

func TestParseNTBoot(t *testing.T) {
	const boot, now, hour = 134405000000000000, 134405130000000000, 36000000000
	id, err := parseNTBoot(timeOfDay(boot, now, 0))
	if err != nil || id != "boottime:134405000000000000" {
		t.Fatalf("%q, %v", id, err)
	}
	// Setting the clock moves boot time, clock and bias together.
	for _, step := range []int64{hour, -hour, 1, -1, -100000 * hour} {
		if again, err := parseNTBoot(timeOfDay(boot+step, now+step, step)); err != nil ||
			again != id {
			t.Errorf("set by %d: %q, %v", step, again, err)
		}
	}
	if other, err := parseNTBoot(timeOfDay(boot+1, now, 0)); err != nil || other == id {
		t.Errorf("another boot: %q, %v", other, err)
	}
	for what, b := range map[string][]byte{
		"nothing":         nil,
		"short":           timeOfDay(boot, now, 0)[:ntTimeOfDaySize-1],
		"zero":            timeOfDay(0, now, 0),
		"negative":        timeOfDay(-boot, now, 0),
		"future":          timeOfDay(now+1, now, 0),
		"bias too large":  timeOfDay(boot, now, boot),
		"bias overflows":  timeOfDay(boot, now, -1<<63),
		"bias overflows+": timeOfDay(1<<63-1, 1<<63-1, -1),
	} {
		if id, err := parseNTBoot(b); err == nil || !errors.Is(err, ErrNotGenuine) {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
}

func FuzzParseNTBoot(f *testing.F) {
	f.Add(timeOfDay(134405000000000000, 134405130000000000, -36000000000))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := parseNTBoot(slices.Clip(b))
		if (err == nil) != (id != "") {
			t.Errorf("%q, %v", id, err)
		}
		if err == nil && !Start("filetime:"+id[len("boottime:"):]).Valid() {
			t.Errorf("%q", id)
		}
	})
}
