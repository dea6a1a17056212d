package mutants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var build = flag.Bool("mutants", false,
	"build and run every mutant, instead of only looking whether its text still stands in the source")

var oneIn = flag.Int("one-in", 1,
	"of those mutants that are not of the protocol or of verdicts run one in so many, by the day")

func runner(t *testing.T) Runner {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return Runner{Root: root, Scratch: t.TempDir()}
}

func all() []Mutant {
	return slices.Concat(ofProtocol, ofExplorer, ofVerdicts, ofProcesses, ofOperations, ofFiles,
		ofCommands)
}

// chosen leaves out some of the slow ones, others every day.
func chosen(t *testing.T) []Mutant {
	day := time.Now().YearDay()
	list := slices.Concat(ofProtocol, ofVerdicts, ofExplorer)
	for i, m := range slices.Concat(ofProcesses, ofOperations, ofFiles, ofCommands) {
		if (i+day)%max(*oneIn, 1) == 0 {
			list = append(list, m)
		}
	}
	t.Logf("%d of %d mutants", len(list), len(all()))
	return list
}

// A mutant whose text stands nowhere any more would be one that nobody looks for.
func TestEveryTextStandsOnce(t *testing.T) {
	names := map[string]bool{}
	r := runner(t)
	for _, m := range all() {
		if m.Name == "" || m.Why == "" || m.Package == "" || m.Run == "" || m.Story == "" ||
			len(m.Edits) == 0 || names[m.Name] {
			t.Errorf("%q: incomplete, or named like another one", m.Name)
		}
		names[m.Name] = true
		if _, err := r.Overlay(m); err != nil {
			t.Error(err)
		}
	}
}

// TestMutants is what scripts/check.sh mutants runs: with each fault the tests that are meant to
// notice it fail, and without it they pass.
func TestMutants(t *testing.T) {
	if !*build {
		t.Skip("takes minutes: bash scripts/check.sh mutants")
	}
	r, list := runner(t), chosen(t)
	t.Run("none", func(t *testing.T) {
		programs, seen := map[string]string{}, map[string]bool{}
		for _, m := range list {
			if programs[m.Package] == "" {
				bin, err := r.Build(m.Package, "", fmt.Sprintf("none%d", len(programs)))
				if err != nil {
					t.Fatal(err)
				}
				programs[m.Package] = bin
			}
			key := m.Package + "\n" + m.Run + "\n" + strings.Join(m.Args, "\n")
			if seen[key] {
				continue
			}
			seen[key] = true
			if passed, output, err := r.Run(programs[m.Package], m.Suite); err != nil || !passed {
				t.Errorf("without any fault: %v\n%s", err, output)
			}
		}
	})
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			output, err := r.Catch(m)
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("caught: %s\n%s", m.Why, excerpt(output))
		})
	}
}

// excerpt is enough of what the tests say to be read.
func excerpt(output string) string {
	const most = 40
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("… and %d lines more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}
