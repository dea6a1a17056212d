// Package mutants proves that tests see: it puts seeded faults into the real source, one at a time,
// builds the tests that are meant to notice, and requires that they fail. The source on the disk
// is not touched (go build -overlay), and the product has no hooks for this.
package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Mutant is a fault, and who must notice it.
type Mutant struct {
	Name string // in words, joined by dashes
	Why  string // what goes wrong with it, one sentence
	// Edits are made together. Each old text must stand exactly once in its file.
	Edits []Edit
	Suite
	// Story is a regular expression for the output of the failing tests: that they fail for the
	// reason that is meant, and tell it.
	Story string
}

// Edit replaces text in a file of the repository.
type Edit struct{ File, Old, New string }

// Suite is a set of tests that pass without a fault.
type Suite struct {
	Package string   // folder, such as lockfile/internal/explore
	Run     string   // as of go test -run
	Args    []string // further arguments for the tests, such as -explore.budget=10s
}

// tries is how often tests may fail to notice. What shows only when two processes meet at a bad
// moment, as in the soak, may take more than a few seconds of a slow machine.
const tries = 3

// patience bounds one run of tests.
const patience = 5 * time.Minute

// Runner builds and runs in a scratch folder.
type Runner struct {
	Root    string // of the repository
	Scratch string
}

// Overlay applies the edits of m and returns the path of an overlay file for the go command.
func (r Runner) Overlay(m Mutant) (string, error) {
	dir := filepath.Join(r.Scratch, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, e := range m.Edits {
		source := filepath.Join(r.Root, filepath.FromSlash(e.File))
		patched, again := replace[source]
		if !again {
			patched = source
		}
		text, err := os.ReadFile(patched)
		if err != nil {
			return "", err
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		if n := bytes.Count(text, []byte(e.Old)); n != 1 {
			return "", fmt.Errorf("%s: this stands %d times in %s, must be once: "+
				"adapt the table:\n%s", m.Name, n, e.File, e.Old)
		}
		text = bytes.Replace(text, []byte(e.Old), []byte(e.New), 1)
		if !again {
			patched = filepath.Join(dir, strings.ReplaceAll(e.File, "/", "+"))
			replace[source] = patched
		}
		if err := os.WriteFile(patched, text, 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, overlay, 0o600)
}

// Build builds the tests of a package, with an overlay unless that is "", and returns the path of
// the program.
func (r Runner) Build(pkg, overlay, name string) (string, error) {
	bin := filepath.Join(r.Scratch, name+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", bin}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.Command("go", append(args, "./"+pkg)...)
	cmd.Dir = r.Root
	own := filepath.Join(r.Root, filepath.FromSlash(pkg))
	if _, err := os.Stat(filepath.Join(own, "go.mod")); err == nil { // a module of its own
		cmd = exec.Command("go", append(args, ".")...)
		cmd.Dir = own
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	return bin, nil
}

// Run runs tests that were built and returns whether they passed, and their output. An error says
// that no tests were run, or that they did not end.
func (r Runner) Run(bin string, s Suite) (passed bool, output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := append([]string{"-test.v", "-test.failfast", "-test.run", s.Run}, s.Args...)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(r.Root, filepath.FromSlash(s.Package))
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return false, string(out), fmt.Errorf("the tests %s of %s did not end within %v", s.Run,
			s.Package, patience)
	case !bytes.Contains(out, []byte("=== RUN")):
		return false, string(out), fmt.Errorf("no test of %s matches %s", s.Package,
			s.Run)
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return false, string(out), err
	}
	return err == nil, string(out), nil
}

// Catch requires that the tests notice the fault, and returns what they say.
func (r Runner) Catch(m Mutant) (string, error) {
	story, err := regexp.Compile(m.Story)
	if err != nil {
		return "", err
	}
	overlay, err := r.Overlay(m)
	if err != nil {
		return "", err
	}
	bin, err := r.Build(m.Package, overlay, m.Name)
	if err != nil {
		return "", err
	}
	defer os.Remove(bin)
	for try := 1; ; try++ {
		passed, output, err := r.Run(bin, m.Suite)
		switch {
		case err != nil:
			return output, err
		case !passed && story.MatchString(output):
			return output, nil
		case try < tries:
			continue
		case passed:
			return output, fmt.Errorf("%s: nobody noticed. %s", m.Name, m.Why)
		}
		return output, fmt.Errorf("%s: the tests fail, but not with a story like %q", m.Name,
			m.Story)
	}
}
