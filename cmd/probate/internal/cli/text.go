package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape makes text from records, paths and other processes harmless for a terminal: everything
// that is not printable (controls, direction overrides, invisible characters) and every byte that
// is not UTF-8 comes out as an escape sequence in visible characters.
func escape(s string) string {
	if plain(s) {
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

func plain(s string) bool {
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

// quote writes s as one word for a POSIX shell. A word with anything unprintable in it uses $'…',
// which bash, zsh, ksh and newer shells read, so that it can be pasted and cannot hurt the
// terminal.
func quote(s string) string {
	switch {
	case s != "" && strings.Trim(s, safeInShell) == "":
		return s
	case plain(s):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteRune(r)
		default:
			for _, c := range []byte(s[i : i+n]) {
				// octal: always three digits, so nothing can run into it
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	return b.String() + "'"
}

const safeInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@%,="

// operand is quote for a path among the arguments of probate: one that begins with a dash must not
// be taken for a flag.
func operand(path string) string {
	if strings.HasPrefix(path, "-") {
		return "-- " + quote(path)
	}
	return quote(path)
}

// writeJSON prints v on one line. Characters that a terminal would act on are written as \u
// escapes, which JSON readers undo.
func writeJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range strings.TrimSuffix(buf.String(), "\n") {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// when shows a time to people: local, and without the day when it is today.
func when(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// table lines columns up, two blanks between them. Cells are escaped. paint, when not nil, may wrap
// the padded cell of column col in colour.
func table(w io.Writer, rows [][]string, paint func(row, col int, cell string) string) {
	var width []int
	for _, row := range rows {
		for col, cell := range row {
			if col == len(width) {
				width = append(width, 0)
			}
			row[col] = escape(cell)
			if col == len(row)-1 {
				continue // nothing stands behind it
			}
			width[col] = max(width[col], utf8.RuneCountInString(row[col]))
		}
	}
	for i, row := range rows {
		var b strings.Builder
		for col, cell := range row {
			pad := ""
			if col < len(row)-1 {
				pad = strings.Repeat(" ", width[col]-utf8.RuneCountInString(cell)+2)
			}
			if paint != nil {
				cell = paint(i, col, cell)
			}
			b.WriteString(cell + pad)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
