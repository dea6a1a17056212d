package probe_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows/registry"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	probetest.Register("host", func(p *probetest.Peer) {
		p.SendJSON(probe.Real().Host().Boot.ID.Value)
	})
	probetest.Register("keeper", func(p *probetest.Peer) {
		f, err := os.Open(p.Arg(0))
		p.Check(err)
		defer f.Close()
		p.Send("open")
		p.Line()
	})
}

func TestHostOnWindows(t *testing.T) {
	h := probe.NewUncached().Host()
	if !regexp.MustCompile(`^boottime:[1-9][0-9]{17}$`).MatchString(h.Boot.ID.Value) {
		t.Errorf("boot %v", h.Boot.ID)
	}
	var others string
	probetest.Start(t, "host").JSON(&others)
	if others != h.Boot.ID.Value {
		t.Errorf("boot is %s here and %s in another process", h.Boot.ID.Value, others)
	}
	if at := h.Boot.StartedAt; !at.Known || at.Value.After(time.Now()) {
		t.Errorf("booted %v", at)
	}
	if !regexp.MustCompile(`^1[0-9]\.[0-9]+\.[0-9]{4,}$`).MatchString(h.Kernel.Value) {
		t.Errorf("kernel %v", h.Kernel)
	}
	name, _ := os.Hostname()
	if h.OS != "windows" || h.Machine.Host.Value != name || name == "" {
		t.Errorf("%+v", h)
	}
	n := h.Namespaces
	if n.PID.Known || n.Time.Known || !n.PIDInitial.Value || h.ProcFS.Known ||
		!errors.Is(n.PID.Err, errors.ErrUnsupported) ||
		!errors.Is(h.ProcFS.Err, errors.ErrUnsupported) {
		t.Errorf("%+v", h)
	}
	if nested := probe.Real().Nested(os.Getpid()); nested.Found != nil || nested.Incomplete != nil {
		t.Errorf("%+v", nested)
	}
}

// The machine id is what the registry has, in the 64-bit view, made small.
func TestMachineOnWindows(t *testing.T) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	want, _, err := k.GetStringValue("MachineGuid")
	if err != nil {
		t.Fatal(err)
	}
	m := probe.NewUncached().Host().Machine
	if m.Legacy != want || !m.ID.Known || m.ID.Value != strings.ToLower(want) {
		t.Errorf("%q: %+v", want, m)
	}
}

func TestFilesystemOnWindows(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, name := range []string{dir, file} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fs := probe.Real().Filesystem(f.Fd())
		if !fs.Local || fs.Type.Value != "ntfs" && fs.Type.Value != "refs" {
			t.Errorf("%s: %+v", name, fs)
		}
		if !regexp.MustCompile(`^vol:[0-9a-f]{16}$`).MatchString(fs.ID.Value) {
			t.Errorf("%s: %+v", name, fs.ID)
		}
		ids = append(ids, fs.ID.Value)
	}
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("a directory and a file in it: %v", ids)
	}
	fs := probe.Real().Filesystem(0)
	if fs.Local || fs.Type.Known || fs.Type.Err == nil || fs.ID.Known {
		t.Errorf("no handle: %+v", fs)
	}
	null, err := os.Open("NUL")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if fs := probe.Real().Filesystem(null.Fd()); fs.Local {
		t.Errorf("NUL: %+v", fs)
	}
}

// Who has a file open is said where the kernel says it, and never as if that were all.
func TestOpenersOnWindows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := probetest.Start(t, "keeper", file)
	c.Expect("open")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := probe.Real().Openers(f.Fd())
	if o.Incomplete == nil {
		t.Errorf("complete: %+v", o)
	}
	found := slices.IndexFunc(o.Found, func(o probe.Opener) bool { return o.PID == c.PID() })
	switch {
	case probetest.OnWine() && len(o.Found) == 0: // it does not know the question
	case found < 0 || !strings.HasSuffix(o.Found[found].Name, ".exe"):
		t.Errorf("%d is not among %+v", c.PID(), o)
	}
}
