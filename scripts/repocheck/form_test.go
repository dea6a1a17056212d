package repocheck

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxLines   = 400
	maxColumns = 100
)

// longFiles may have more lines than others, for the reason given.
var longFiles = map[string]string{}

// A file that does not fit into the head is two files.
func TestFilesAreShort(t *testing.T) {
	for _, f := range load(t).golang {
		n := strings.Count(f.source, "\n")
		switch why := longFiles[f.name]; {
		case n > maxLines && why == "":
			t.Errorf("%s: %d lines, at most %d: split it where there is something to split", f.name,
				n, maxLines)
		case n <= maxLines && why != "":
			t.Errorf("%s: has %d lines and needs no exception any more", f.name, n)
		}
	}
}

// Two files side by side, or one in a review, without a scroll bar. Long are allowed: links, which
// cannot be broken; in Go, raw strings of several lines, and somewhat longer lines with text in
// tests; in Markdown, tables and the output of programs.
func TestLinesAreShort(t *testing.T) {
	r := load(t)
	for _, f := range r.golang {
		raw := false // inside a raw string that began on an earlier line
		n := 0
		for line := range strings.Lines(f.source) {
			n++
			inside := raw
			comment := strings.HasPrefix(strings.TrimSpace(line), "//")
			if strings.Count(line, "`")%2 == 1 && !comment {
				raw = !raw
			}
			most := maxColumns
			if strings.HasSuffix(f.name, "_test.go") && strings.ContainsAny(line, "\"`") {
				most = maxColumns + 20 // a row of a table reads better in one piece
			}
			if w := columns(line); w > most && !inside && !strings.Contains(line, "://") {
				t.Errorf("%s:%d: %d columns, at most %d", f.name, n, w, most)
			}
		}
	}
	for _, name := range r.files {
		if path.Ext(name) != ".md" {
			continue
		}
		n, fenced, isGo := 0, false, false
		for line := range strings.Lines(read(t, name)) {
			n++
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
				fenced, isGo = !fenced, strings.TrimSpace(rest) == "go"
			}
			long := fenced && !isGo || strings.HasPrefix(line, "|") || strings.Contains(line, "://")
			if w := columns(line); w > maxColumns && !long {
				t.Errorf("%s:%d: %d columns, at most %d", name, n, w, maxColumns)
			}
		}
	}
}

// columns counts a tab as four, which is where it ends up on average in nested code.
func columns(line string) int {
	line = strings.TrimRight(line, "\r\n")
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// _unix is not a build constraint, though it looks like one: the file would be built everywhere.
func TestSystemNamesHaveBuildLines(t *testing.T) {
	looksLikeOne := []string{"unix", "posix", "bsd", "bsdonly", "other", "notlinux", "nonlinux",
		"nounix", "nowindows"}
	for _, f := range load(t).golang {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
		_, last, ok := strings.Cut(name, "_")
		for ok && strings.Contains(last, "_") {
			_, last, _ = strings.Cut(last, "_")
		}
		if !ok || !slices.Contains(looksLikeOne, last) {
			continue
		}
		if _, has := f.buildLine(); !has {
			t.Errorf("%s: _%s constrains nothing: it needs a //go:build line", f.name, last)
		}
	}
}

// go doc shows the package comments of all files joined. One place for it can be found and kept
// true.
func TestOnePackageComment(t *testing.T) {
	type pkg struct {
		name  string
		holds []string
	}
	dirs := map[string]*pkg{}
	for _, f := range load(t).golang {
		if f.test {
			continue
		}
		p := dirs[f.dir]
		if p == nil {
			p = &pkg{name: f.ast.Name.Name}
			dirs[f.dir] = p
		}
		if f.ast.Doc != nil {
			p.holds = append(p.holds, f.name)
		}
	}
	for dir, p := range dirs {
		if len(p.holds) != 1 {
			t.Errorf("%s: package comments in %q: there must be one", dir, p.holds)
			continue
		}
		switch base := path.Base(p.holds[0]); base {
		case "doc.go", "main.go", p.name + ".go":
		default:
			t.Errorf("%s: the package comment belongs into doc.go, main.go or %s.go", p.holds[0],
				p.name)
		}
	}
}

// The repository stands alone: what it says can be followed in a clone.
func TestNothingPointsOutside(t *testing.T) {
	// In pieces, so that this file does not contain them itself.
	outside := []string{"/work/" + "main", "/work/" + "shared", "../" + "shared",
		"shared/" + "design", "shared/" + "cases", "shared/" + "tools",
		"windows-here" + ".md", "record-v2-peers" + ".md", "platforms" + ".md",
		"protocol" + ".md", "layout" + ".md", "feel" + ".md"}
	for _, name := range load(t).files {
		if strings.Contains(name, "/testdata/") && !strings.HasSuffix(name, ".txtar") {
			continue
		}
		text := read(t, name)
		if !utf8.ValidString(text) {
			continue // a program that somebody built
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			for _, word := range outside {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: %q is not in this repository", name, n, word)
				}
			}
		}
	}
}

// A carriage return or a missing last line makes every diff of the next editor noise.
func TestTextFilesEndWell(t *testing.T) {
	for _, name := range load(t).files {
		switch path.Ext(name) {
		case ".go", ".md", ".sh", ".txt", ".yml", ".yaml", ".mod":
		default:
			continue
		}
		if strings.Contains(name, "/testdata/") {
			continue
		}
		text := read(t, name)
		if strings.Contains(text, "\r") {
			t.Errorf("%s: has carriage returns", name)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: does not end with a line end", name)
		}
	}
}
