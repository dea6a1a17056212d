package repocheck

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Code in the documentation is what people copy first. Every ```go block is a whole file and
// compiles, as a program outside this module would; code that is not meant to compile is ```text.
func TestGoInMarkdownCompiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, name := range load(t).files {
		if path.Ext(name) != ".md" {
			continue
		}
		_, blocks := fences(read(t, name))
		for _, code := range blocks["go"] {
			if !strings.Contains(code, "package ") {
				t.Errorf("%s: a ```go block is not a whole file:\n%s", name, code)
				continue
			}
			n++
			write(fmt.Sprintf("snippet%d/main.go", n), "// from "+name+"\n\n"+code)
		}
	}
	if n == 0 {
		t.Fatal("README.md shows no Go code: it must show how the library is used")
	}
	above, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// The module's own requirements, so that nothing has to be resolved over the network.
	_, requirements, _ := strings.Cut(read(t, "go.mod"), "\nrequire")
	write("go.mod", fmt.Sprintf("module snippets\n\ngo 1.26\n\nrequire %s v0.0.0\n\n"+
		"replace %s => %s\n\nrequire%s", module, module, above, requirements))
	write("go.sum", read(t, "go.sum"))
	cmd := exec.Command("go", "vet", "-mod=mod", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Go code in Markdown files: %v\n%s", err, out)
	}
}
