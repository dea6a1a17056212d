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

	"github.com/probate-dev/probate/internal/shell"
)

// How text and commands look for people on this system: see package shell.
func escape(s string) string     { return shell.Escape(s) }
func quote(s string) string      { return shell.Here.Quote(s) }
func operand(path string) string { return shell.Here.Operand(path) }

// writeJSON prints v on one line. Characters that a terminal would act on are written as \u
// escapes, which JSON readers undo.
func writeJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if isPlain(buf.Bytes()) {
		_, err := w.Write(buf.Bytes())
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

// isPlain reports whether a line of JSON is ASCII that a terminal only shows.
func isPlain(line []byte) bool {
	for _, c := range line[:max(0, len(line)-1)] {
		if c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
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
	new(columns).print(w, rows, paint)
}

// columns are the widths of a table that is printed in pieces: they only grow.
type columns struct{ width []int }

// print is table, for the next rows.
func (c *columns) print(
	w io.Writer, rows [][]string, paint func(row, col int, cell string) string,
) {
	for _, row := range rows {
		for col, cell := range row {
			if col == len(c.width) {
				c.width = append(c.width, 0)
			}
			row[col] = escape(cell)
			if col == len(row)-1 {
				continue // nothing stands behind it
			}
			c.width[col] = max(c.width[col], utf8.RuneCountInString(row[col]))
		}
	}
	for i, row := range rows {
		var b strings.Builder
		for col, cell := range row {
			pad := ""
			if col < len(row)-1 {
				pad = strings.Repeat(" ", c.width[col]-utf8.RuneCountInString(cell)+2)
			}
			if paint != nil {
				cell = paint(i, col, cell)
			}
			b.WriteString(cell + pad)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
