package repocheck

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// fences splits a Markdown text into its prose, with the lines of code blocks left empty, and its
// code blocks by language.
func fences(text string) (prose string, blocks map[string][]string) {
	var out, block strings.Builder
	blocks = map[string][]string{}
	language, inside := "", false
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if inside {
				blocks[language] = append(blocks[language], block.String())
				block.Reset()
			}
			inside, language = !inside, strings.TrimSpace(rest)
			out.WriteString("\n")
			continue
		}
		if inside {
			block.WriteString(line)
			line = "\n"
		}
		out.WriteString(line)
	}
	return out.String(), blocks
}

var link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)

// A link that leads nowhere sends a reader away.
func TestLinksResolve(t *testing.T) {
	r := load(t)
	for _, name := range r.files {
		if path.Ext(name) != ".md" {
			continue
		}
		prose, _ := fences(read(t, name))
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil || strings.HasPrefix(file, "..") {
				t.Errorf("%s: %s leads nowhere", name, m[1])
				continue
			}
			if anchor != "" && (info.IsDir() || !slices.Contains(anchors(read(t, file)), anchor)) {
				t.Errorf("%s: %s: there is no such heading in %s", name, m[1], file)
			}
		}
	}
}

// anchors returns the names that GitHub gives to the headings of a text.
func anchors(text string) []string {
	prose, _ := fences(text)
	var names []string
	for line := range strings.Lines(prose) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return names
}

// Scripts rely on the exit codes. The table in the README and the constants of the command are one
// list.
func TestExitCodesOfREADME(t *testing.T) {
	const source = "cmd/probate/internal/cli/exitcodes.go"
	inCode := map[int]string{}
	for _, f := range load(t).golang {
		if f.name != source {
			continue
		}
		for _, decl := range f.ast.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				v := spec.(*ast.ValueSpec)
				lit, ok := v.Values[0].(*ast.BasicLit)
				if !ok || !strings.HasPrefix(v.Names[0].Name, "exit") {
					t.Fatalf("%s: %s is not a plain exit code", source, v.Names[0].Name)
				}
				code, err := strconv.Atoi(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				inCode[code] = v.Names[0].Name
			}
		}
	}
	if len(inCode) < 10 {
		t.Fatalf("%s: found only the codes %v", source, inCode)
	}
	inREADME := map[int]bool{}
	first := regexp.MustCompile(`^\|([^|]*\d[^|]*)\|`)
	number := regexp.MustCompile(`\d+`)
	for line := range strings.Lines(read(t, "README.md")) {
		if m := first.FindStringSubmatch(line); m != nil {
			for _, digits := range number.FindAllString(m[1], -1) {
				code, _ := strconv.Atoi(digits)
				inREADME[code] = true
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(inCode)) {
		if !inREADME[code] {
			t.Errorf("README.md: exit code %d (%s) is not in the table", code, inCode[code])
		}
	}
	for _, code := range slices.Sorted(maps.Keys(inREADME)) {
		if inCode[code] == "" {
			t.Errorf("README.md: the table has exit code %d, which %s does not know", code, source)
		}
	}
}

// The list of skips that CI allows names tests that exist.
func TestAllowedSkipsExist(t *testing.T) {
	known := map[string]bool{}
	for _, f := range load(t).golang {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && f.test {
				known[f.dir+" "+fn.Name.Name] = true
			}
		}
	}
	for line := range strings.Lines(read(t, "scripts/skips.txt")) {
		words := strings.Fields(line)
		if len(words) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(words[2], "/")
		if !known[words[1]+" "+name] {
			t.Errorf("scripts/skips.txt: there is no test %s in %s", name, words[1])
		}
	}
}
