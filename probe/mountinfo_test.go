package probe

import "testing"

func TestParseMountLine(t *testing.T) {
	for _, c := range []struct {
		line string
		want mountEntry
		ok   bool
	}{
		{"22 27 0:21 / /proc rw,relatime - proc proc rw\n",
			mountEntry{22, "/", "/proc", "proc", "rw"}, true},
		{"36 35 98:0 /a\\040b /m\\011n\\134o rw master:1 shared:2 - ext4 /dev/root rw,errors=continue",
			mountEntry{36, "/a b", "/m\tn\\o", "ext4", "rw,errors=continue"}, true},
		{"36 35 98:0 / /x rw - tmpfs  rw", mountEntry{36, "/", "/x", "tmpfs", "rw"}, true},
		{"36 35 98:0 / /x\u00a0y rw - tmpfs t rw", mountEntry{36, "/", "/x\u00a0y", "tmpfs", "rw"}, true},
		{"36 35 98:0 / /x rw", mountEntry{}, false},
		{"x 35 98:0 / /x rw - tmpfs t rw", mountEntry{}, false},
		{"-1 35 98:0 / /x rw - tmpfs t rw", mountEntry{}, false},
		{"", mountEntry{}, false},
	} {
		got, ok := parseMountLine(c.line)
		if got != c.want || ok != c.ok {
			t.Errorf("%q: got %+v, %v", c.line, got, ok)
		}
	}
}

func TestMountInPlace(t *testing.T) {
	for line, want := range map[string]bool{
		"1 1 0:1 / /proc rw - proc proc rw": true,
		// docker
		"1 1 0:1 /sys /proc/sys ro - proc proc rw":                                          true,
		"1 1 0:1 /sys/kernel/random/boot_id /proc/sys/kernel/random/boot_id ro - proc p rw": true,
		"1 1 0:1 /sys/kernel/random/uuid /proc/sys/kernel/random/boot_id rw - proc proc rw": false,
		"1 1 0:1 / /proc/sys/kernel/random/boot_id rw - proc proc rw":                       false,
		"1 1 0:1 /.lxc-boot-id /proc/sys/kernel/random/boot_id rw - tmpfs none rw":          false,
		"1 1 0:1 / /elsewhere/proc rw - proc proc rw":                                       false,
		"1 1 0:1 /sys /sys rw - proc proc rw":                                               false,
	} {
		m, ok := parseMountLine(line)
		if !ok || m.inPlace() != want {
			t.Errorf("%s: %+v, in place: %v", line, m, m.inPlace())
		}
	}
}

func TestMountHides(t *testing.T) {
	for super, want := range map[string]string{
		"rw": "", "rw,hidepid=0": "", "rw,hidepid=off": "", "rw,subset=pid": "", "": "",
		"rw,hidepid=1": "hidepid=1", "rw,hidepid=invisible,gid=5": "hidepid=invisible",
		"hidepid=ptraceable": "hidepid=ptraceable", "rw,hidepid=4": "hidepid=4",
		"rw,hidepid=somethingnew": "hidepid=somethingnew",
	} {
		if got := (mountEntry{super: super}).hides(); got != want {
			t.Errorf("%q: %q", super, got)
		}
	}
}

func TestMountCoversProcess(t *testing.T) {
	for point, want := range map[string]bool{
		"/proc/1": true, "/proc/4711/fd": true, "/proc": false, "/proc/": false, "/proc/sys": false,
		"/x/proc/1": false,
	} {
		if got := (mountEntry{point: point}).coversProcess(); got != want {
			t.Errorf("%s: %v", point, got)
		}
	}
}

func FuzzParseMountInfo(f *testing.F) {
	f.Add("22 27 0:21 / /proc rw,relatime - proc proc rw\n36 35 98:0 /a\\040b / rw - ext4 \\ rw\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMountInfo(text) {
			if m.id < 0 || m.fsType == "" || m.root == "" || m.point == "" {
				t.Errorf("%q: %+v", text, m)
			}
			_ = m.inPlace()
			m.hides()
			_ = m.coversProcess()
		}
	})
}

func TestParseFDInfo(t *testing.T) {
	got := parseFDInfo([]byte("pos:\t0\nflags:\t0100002\nmnt_id:\t24\nino:\t3\n" +
		"lock:\t1: OFDLCK ADVISORY  WRITE -1 08:01:1234 0 EOF\n"))
	if want := (fdInfo{0o100002, true, 24, true}); got != want {
		t.Errorf("got %+v", got)
	}
	for text, locked := range map[string]bool{
		"lock:\t1: FLOCK  ADVISORY  WRITE 1 08:01:1 0 EOF\n": true,
		"lock:\t1: POSIX  ADVISORY  READ 1 08:01:1 0 EOF\n":  true,
		"lock:\t1: LEASE  ACTIVE    READ 1 08:01:1 0 EOF\n":  false,
		"lock:\t\n": false, "": false, "mnt_id:\tx\nflags:\t9\n": false,
	} {
		if got := parseFDInfo([]byte(text)); got.locked != locked || got.flagsOK ||
			got.mount != -1 {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func FuzzParseFDInfo(f *testing.F) {
	f.Add(
		[]byte(
			"pos:\t0\nflags:\t02\nmnt_id:\t24\nlock:\t1: FLOCK  ADVISORY  WRITE 1 08:01:1 0 EOF\n",
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		if info := parseFDInfo(text); info.mount < -1 {
			t.Errorf("%q: %+v", text, info)
		}
	})
}
