package repocheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What lockfile/FIELD.md says is shown by a test or a script exists under that name.
func TestFieldNamesTests(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(root, "lockfile", "FIELD.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	r, err := theRepo()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range r.golang {
		if file.test {
			for _, m := range declared.FindAllStringSubmatch(file.source, -1) {
				tests[m[1]] = true
			}
		}
	}
	scripts := filepath.Join(root, "cmd", "probate", "internal", "cli", "testdata", "script")
	seen := 0
	for _, m := range regexp.MustCompile("`(Test\\w+|[a-z-]+)`").FindAllSubmatch(table, -1) {
		name := string(m[1])
		if strings.HasPrefix(name, "Test") {
			seen++
			if !tests[name] {
				t.Errorf("FIELD.md: there is no test %s", name)
			}
		} else if strings.HasPrefix(name, "field-") {
			seen++
			if _, err := os.Stat(filepath.Join(scripts, name+".txtar")); err != nil {
				t.Errorf("FIELD.md: %v", err)
			}
		}
	}
	if seen < 50 {
		t.Errorf("FIELD.md names %d tests, which cannot be all", seen)
	}
}
