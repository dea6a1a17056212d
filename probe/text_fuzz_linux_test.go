package probe

import (
	"fmt"
	"strings"
	"testing"
)

// mountLine writes a mount as the kernel does: blanks, tabs, line ends and backslashes as octal
// numbers.
func mountLine(m mountEntry) string {
	escape := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			if strings.IndexByte(" \t\n\\", s[i]) >= 0 {
				fmt.Fprintf(&b, `\%03o`, s[i])
			} else {
				b.WriteByte(s[i])
			}
		}
		return b.String()
	}
	return fmt.Sprintf("%d 1 0:1 %s %s rw shared:1 - %s source %s\n", m.id, escape(m.root),
		escape(m.point), m.fsType, m.super)
}

// What was understood of mountinfo is what a kernel that means it would have written.
func FuzzMountLine(f *testing.F) {
	for _, s := range []string{
		"22 27 0:21 / /proc rw,relatime - proc proc rw",
		"36 35 98:0 /a\\040b /m\\011n\\134o rw master:1 shared:2 - ext4 /dev/root rw,errors=continue",
		"36 35 98:0 / /x rw - tmpfs  rw", "36 35 98:0 /\\777 /\\08 rw - a b c",
		"36 35 98:0 - - - - - - -", "+1 1 1 /\\ /\xff\xfe rw - x y z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, ok := parseMountLine(line)
		if !ok {
			return
		}
		if again, ok := parseMountLine(mountLine(m)); !ok || again != m {
			t.Errorf("%q: %+v, written again: %+v, %v", line, m, again, ok)
		}
	})
}

// Texts that name a boot, a namespace or a start: what is accepted has one spelling, and changing
// one character of it makes it another or none.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"5e1f3c0a-7a53-4c6d-9a40-1b1f8f3f3f10\n", "5E1F3C0A-7A53-4C6D-9A40-1B1F8F3F3F10",
		"00000000-0000-0000-0000-000000000000", "pid:[4026531836]", "pid:[04026531836]",
		"pid:[18446744073709551616]", "time:[4026531834]", "ticks:15234", "ticks:015",
		"usec:1796020767.000123", "usec:1.1", "filetime:18446744073709551615", "x:1", "ticks:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := parseBootID(text); err == nil {
			again, err := parseBootID(id + "\n")
			if err != nil || again != id || len(id) != 36 || strings.ToLower(id) != id {
				t.Errorf("%q is boot %q, and that is %q, %v", text, id, again, err)
			}
		}
		if id, err := parseUUID(text); err == nil {
			if again, err := parseUUID(strings.ToLower(id)); err != nil || again != id {
				t.Errorf("%q is %q, and that is %q, %v", text, id, again, err)
			}
		}
		for _, kind := range []string{"pid", "time"} {
			n, ok := parseNamespace(text, kind)
			if ok && (n == 0 || fmt.Sprintf("%s:[%d]", kind, n) != text) {
				t.Errorf("%q is namespace %d", text, n)
			}
		}
		s := Start(text)
		if kind := s.Kind(); s.Valid() != (kind != "") ||
			s.Valid() && !strings.HasPrefix(text, kind+":") {
			t.Errorf("%q: valid %v, kind %q", text, s.Valid(), kind)
		}
	})
}
