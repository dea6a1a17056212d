package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// nasty is text as an attacker would put it into a label or a file name.
var nasty = []string{
	"", "plain", "a b", "état 状態", "it's", `back\slash`, `"quoted"`, "$(reboot)", "`reboot`", "-flag", "*?[",
	"two\nlines", "tab\there", "\r\x1b[2K\x1b]0;title\x07", "\x00", "\x7f", "\u0085\u009b31m", "\u202egpj.exe",
	"\u2066\u2069", "zero\u200bwidth", "\ufeffbom", "\U000e0041tag", "bad\xff\xfe", "\xc3", "\u2028", "\ufffd real",
	"\x011", "new\n1line", "\xff7",
}

func TestWriteJSONKeepsTheTextAndTheTerminal(t *testing.T) {
	for _, s := range nasty {
		if !utf8.ValidString(s) {
			continue // JSON cannot hold it
		}
		var buf bytes.Buffer
		if err := writeJSON(&buf, map[string]string{"text": s}); err != nil {
			t.Fatal(err)
		}
		line, ok := strings.CutSuffix(buf.String(), "\n")
		if !ok || escape(line) != line {
			t.Errorf("%q is written as %q", s, buf.String())
		}
		var back map[string]string
		if err := json.Unmarshal(buf.Bytes(), &back); err != nil || back["text"] != s {
			t.Errorf("%q is read back as %q (%v)", s, back["text"], err)
		}
	}
}

func TestTableLinesUp(t *testing.T) {
	var buf bytes.Buffer
	table(&buf, [][]string{
		{
			"STATE",
			"VERDICT",
			"OWNER",
		}, {"état", "gone"}, {"a\nb", "alive", "a very long last cell"}, {"x", "unknown", "y"},
	}, func(row, col int, cell string) string {
		if col == 1 && row > 0 {
			return "<" + cell + ">"
		}
		return cell
	})
	want := "STATE  VERDICT  OWNER\n" +
		"état   <gone>\n" +
		`a\nb   <alive>    a very long last cell` + "\n" +
		"x      <unknown>  y\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhenLeavesTodayOut(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	if got := when(now.Add(-6*time.Hour), now); got != "06:00:00" {
		t.Errorf("today: %s", got)
	}
	if got := when(now.Add(-24*time.Hour), now); got != "2026-11-29 12:00:00" {
		t.Errorf("yesterday: %s", got)
	}
}
