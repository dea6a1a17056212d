package identity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
)

// What could not be read is told once, with the place where it was looked for, as a person would
// say it.
func TestUnreadIsToldInPlainWords(t *testing.T) {
	stateHidden := func(w *world) {
		w.o.Process.State = probe.Unknown[string]("/proc/4711/stat", errDenied)
		w.o.Process.Readings = []probe.Reading{{Source: "/proc/4711/stat", Err: "permission denied"}}
	}
	for name, c := range map[string]struct {
		change         func(*world)
		sentence, read string
	}{
		"boot": {bootNotGenuine, "the boot id cannot be read here",
			"boot_id: " + probe.ErrNotGenuine.Error()},
		"boot, place named already": {func(w *world) {
			w.o.Host.Boot.ID = probe.Unknown[string]("boot_id", errors.New("read boot_id: EIO"))
		}, "the boot id cannot be read here", "read boot_id: EIO"},
		"boot, not asked": {func(w *world) { w.o.Host.Boot.ID = probe.Fact[string]{} },
			"the boot id cannot be read here", "not read"},
		// What cannot be read here says nothing about why the record names no boot.
		"boot, neither": {all(bootRecorded(""), bootNotGenuine), "the record names no genuine boot",
			""},
		"pid namespace": {pidNSUnseen, "the pid namespace is not known on both sides",
			"ns/pid: " + probe.ErrUntrusted.Error()},
		"start": {all(pidfdUnknown, startUnreadable), "when the process started cannot be read here",
			"permission denied"},
		"stopped or not": {stateHidden,
			"process 4711 is running, and whether it is stopped cannot be read here",
			"/proc/4711/stat: permission denied"},
	} {
		for _, w := range []*world{stamped(), recorded().with(noLockClaimed)} {
			f := w.with(c.change).decide()
			found := false
			for _, e := range f.Evidence {
				found = found || e.Sentence == c.sentence && strings.HasSuffix(e.Err, c.read) &&
					(e.Err == "") == (c.read == "")
				if strings.Contains(e.Err, "unknown (") {
					t.Errorf("%s: %q", name, e.Err)
				}
			}
			if !found {
				t.Errorf("%s: no %q, %q in %+v", name, c.sentence, c.read, f.Evidence)
			}
		}
	}
}

// A record may hold a name of any length. A sentence is short.
func TestLongProgramNames(t *testing.T) {
	for program, want := range map[string]string{
		strings.Repeat("é", 64):    "process 4711 (" + strings.Repeat("é", 64) + ") is running",
		strings.Repeat("é", 60000): "process 4711 (" + strings.Repeat("é", 64) + "…) is running",
	} {
		w := recorded().with(func(w *world) { w.c.Owner.Program = program })
		if f := w.decide(); f.Sentence != want || f.Verdict != identity.Alive {
			t.Errorf("%d bytes: %.300s", len(program), f.Sentence)
		}
	}
}
