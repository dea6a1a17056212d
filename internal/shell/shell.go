// Package shell writes commands for people, as they can be pasted on the system that the program
// runs on: which program shows what, and how a path is quoted for it. It starts none of them.
package shell

import (
	"fmt"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// System is an operating system, in which commands are written.
type System struct {
	OS string // as runtime.GOOS
	// Raw quotes words so that every POSIX shell reads them exactly, whatever is in them: for text
	// that goes to programs, or is escaped before a terminal sees it.
	Raw bool
}

// Here is the system that this program runs on, for text that goes to a terminal as it is.
var Here = System{OS: runtime.GOOS}

// Raw is the system that this program runs on, for text that may hold anything.
var Raw = System{OS: runtime.GOOS, Raw: true}

// Quote writes s as one word. For a POSIX shell a word with anything unprintable in it uses $'…',
// which bash, zsh, ksh and newer shells read, so that it can be pasted and cannot hurt the
// terminal. On Windows it is in double quotes, which cmd and PowerShell both read; what is
// unprintable there is shown as Escape does, and cannot be pasted.
func (s System) Quote(word string) string {
	if s.OS == "windows" {
		if word != "" && strings.Trim(word, safeOnWindows) == "" {
			return word
		}
		return `"` + Escape(word) + `"`
	}
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case s.Raw || Plain(word):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(word); {
		r, n := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteRune(r)
		default:
			for _, c := range []byte(word[i : i+n]) {
				// octal: always three digits, so nothing can run into it
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	return b.String() + "'"
}

const (
	letters       = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	safe          = letters + "-_./+:@%,="
	safeOnWindows = letters + `-_./+:\`
)

// Operand is Quote for a path among the arguments of probate: one that begins with a dash must not
// be taken for a flag.
func (s System) Operand(path string) string {
	if strings.HasPrefix(path, "-") {
		return "-- " + s.Quote(path)
	}
	return s.Quote(path)
}

// path is Quote for a path among the arguments of any program.
func (s System) path(path string) string {
	if strings.HasPrefix(path, "-") {
		return s.Quote("./" + path)
	}
	return s.Quote(path)
}

func (s System) paths(paths []string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = s.path(p)
	}
	return strings.Join(words, " ")
}

// Plain reports whether s is UTF-8 and everything in it is printable.
func Plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Escape makes text from records, paths and other processes harmless for a terminal: everything
// that is not printable (controls, direction overrides, invisible characters) and every byte that
// is not UTF-8 comes out as an escape sequence in visible characters.
func Escape(s string) string {
	if Plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(visible(r))
		}
		i += n
	}
	return b.String()
}

func visible(r rune) string {
	switch {
	case unicode.IsPrint(r):
		return string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// Shortened cuts s after n characters, and says so with "…": text from a file may be of any length.
func Shortened(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
