package shell

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// nasty is text as an attacker would put it into a label or a file name.
var nasty = []string{
	"", "plain", "a b", "état 状態", "it's", `back\slash`, `"quoted"`, "$(reboot)", "`reboot`",
	"-flag", "*?[", "two\nlines", "tab\there", "\r\x1b[2K\x1b]0;title\x07", "\x00", "\x7f",
	"\u0085\u009b31m", "\u202egpj.exe", "\u2066\u2069", "zero\u200bwidth", "\ufeffbom",
	"\U000e0041tag", "bad\xff\xfe", "\xc3", "\u2028", "\ufffd real", "\x011", "new\n1line", "\xff7",
}

func TestEscapeLeavesNothingForTheTerminal(t *testing.T) {
	for _, s := range nasty {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Errorf("Escape(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("Escape(%q) = %q has %U", s, got, r)
			}
		}
	}
	for in, want := range map[string]string{
		"état 状態":       "état 状態",
		"a\x1b[31m\n":   `a\x1b[31m\n`,
		"\u202egpj":     `\u202egpj`,
		"\U000e0041":    `\U000e0041`,
		"b\xffy":        `b\xffy`,
		"\ufffd":        "\ufffd",
		`C:\data\state`: `C:\data\state`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		system             string
		word, want, behind string
	}{
		{"linux", "state.json", "state.json", "state.json"},
		{"linux", "-state", "-state", "-- -state"},
		{"darwin", "a b", "'a b'", "'a b'"},
		{"windows", `C:\data\state.json`, `C:\data\state.json`, `C:\data\state.json`},
		{"windows", `C:\my data\state`, `"C:\my data\state"`, `"C:\my data\state"`},
		{"windows", "-state", "-state", "-- -state"},
		{"windows", "50%", `"50%"`, `"50%"`},
		{"windows", "a&b", `"a&b"`, `"a&b"`},
		{"windows", "", `""`, `""`},
		{"windows", "\u202egpj", `"\u202egpj"`, `"\u202egpj"`},
	} {
		s := System{OS: c.system}
		if got := s.Quote(c.word); got != c.want {
			t.Errorf("%s: Quote(%q) = %s, want %s", c.system, c.word, got, c.want)
		}
		if got := s.Operand(c.word); got != c.behind {
			t.Errorf("%s: Operand(%q) = %s, want %s", c.system, c.word, got, c.behind)
		}
	}
}

// commands are all commands as a system writes them, by what they are for.
func commands(s System, path string) map[string]string {
	return map[string]string{
		"list":       s.List(path, path),
		"content":    s.Content(path),
		"process":    s.Process(4712),
		"openers":    s.Openers(path),
		"privileged": s.Privileged("probate inspect " + s.Operand(path)),
		"without":    s.Without("PROBATE_RECOVERY", "probate recover "+s.Operand(path)),
		"which":      s.Which("import"),
		"space":      s.Space(path),
		"disk":       s.Disk(),
		"files":      s.Files(),
		"mode":       s.NotExecutable(),
		"format":     s.NotAProgram(),
		"superuser":  s.Superuser(),
	}
}

// Each system is told of programs that it has, and of none of another one's.
func TestCommandsOfTheirSystem(t *testing.T) {
	foreign := map[string][]string{
		"linux":   {"tasklist", "icacls", "lsof ", "fstat ", "doas ", "where.exe", "cmd /c"},
		"darwin":  {"tasklist", "icacls", "fuser", "fstat ", "doas ", "where.exe", "cmd /c"},
		"freebsd": {"tasklist", "icacls", "fuser", "lsof ", "where.exe", "cmd /c"},
		"openbsd": {"tasklist", "icacls", "fuser", "lsof ", "sudo ", "where.exe", "cmd /c"},
		"windows": {"ls -l", "ps -o", "fuser", "lsof ", "fstat ", "sudo ", "doas ", "env -u",
			"ulimit", "dmesg", "command -v", "df ", "head ", "#!", "root"},
	}
	for s, words := range foreign {
		for what, command := range commands(System{OS: s}, "state.lock") {
			if command == "" {
				t.Errorf("%s: no %s", s, what)
			}
			for _, word := range words {
				if strings.Contains(command, word) {
					t.Errorf("%s: %s: %q has %q", s, what, command, word)
				}
			}
		}
	}
}

// A path is one word, and no flag, wherever it stands.
func TestCommandsQuotePaths(t *testing.T) {
	for _, s := range []string{"linux", "darwin", "freebsd", "openbsd", "windows"} {
		s := System{OS: s}
		for what, command := range commands(s, "-my state") {
			if strings.Contains(command, " -my") {
				t.Errorf("%s: %s takes the path for a flag: %s", s.OS, what, command)
			}
			if quoted := s.Quote("./-my state"); strings.Contains(command, "my state") &&
				!strings.Contains(command, quoted) && !strings.Contains(command, "'./-my state'") &&
				!strings.Contains(command, s.Operand("-my state")) {
				t.Errorf("%s: %s does not quote the path: %s", s.OS, what, command)
			}
		}
	}
}

func TestShortened(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"a", 0, "…"},
		{"äöü", 3, "äöü"}, {"äöüß", 3, "äöü…"}, {"\xff\xfe\xfd", 2, "\xff\xfe…"},
	} {
		if got := Shortened(c.s, c.n); got != c.want {
			t.Errorf("%q, %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
