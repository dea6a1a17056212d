package repocheck

import (
	"go/build/constraint"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows says which folders of this module a package may import. The operating system is read in
// probe, becomes an opinion in identity, and decides in lockfile; fence knows nothing of them. Data
// flows one way, so that each part can be tested, and trusted, without those above it. The longest
// row that fits a folder counts; a folder without one may import nothing.
var arrows = map[string][]string{
	"internal":               {},
	"internal/nextstep":      {"probe", "identity", "internal/shell"},
	"internal/vfs/faultfs":   {"internal/vfs"},
	"internal/vfs/simfs":     {"internal/vfs"},
	"probe":                  {},
	"identity":               {"probe", "internal/strictjson"},
	"fence":                  {"internal/vfs", "internal/ended"},
	"lockfile":               {"probe", "identity", "fence", "internal", "lockfile/internal/seam"},
	"lockfile/internal":      {"probe", "identity", "fence", "lockfile", "internal"},
	"lockfile/internal/seam": {"internal"},
	"store":                  {"probe", "identity", "fence", "lockfile", "internal", "store"},
	"store/ops": {"probe", "identity", "fence", "lockfile", "internal/ended",
		"store/internal"},
	"cmd/probate":          {"cmd/probate/internal"},
	"cmd/probate/internal": {"probe", "identity", "fence", "lockfile", "internal", "store"},
	"examples":             {"identity", "lockfile", "store/statefile", "store/ops"},
	"scripts":              {"scripts", "probe", "identity", "fence", "lockfile", "store"},
}

// thirdParty are the modules that a folder may use besides the standard library. A library that is
// meant to be imported everywhere brings next to nothing along.
var thirdParty = map[string][]string{
	"":      {"golang.org/x/sys"},
	"probe": {"golang.org/x/sys", "github.com/denisbrodbeck/machineid"},
	// notices of changes, and canonical JSON: what the standard library does not have
	"store":       {"golang.org/x/sys", "github.com/fsnotify/fsnotify", "github.com/gowebpki/jcs"},
	"examples":    {}, // what they show needs nothing else
	"cmd/probate": {"golang.org/x/sys", "github.com/spf13/cobra", "github.com/spf13/pflag"},
}

// testParty are modules that tests may use as well.
var testParty = []string{"pgregory.net/rapid", "github.com/rogpeppe/go-internal"}

func TestArrows(t *testing.T) {
	for _, f := range load(t).golang {
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			at := f.line(spec)
			if name == module || strings.HasPrefix(name, module+"/") {
				to := strings.TrimPrefix(strings.TrimPrefix(name, module), "/")
				if !f.mayImport(to) {
					t.Errorf("%s: %s must not import %s: see the table of arrows in %s",
						at, f.dir, to, "scripts/repocheck/arrows_test.go")
				}
				continue
			}
			if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
				continue // standard library
			}
			if !f.mayUse(name) {
				t.Errorf("%s: %s must not use %s: the library lives on the standard library and "+
					"golang.org/x/sys", at, f.dir, name)
			}
		}
	}
}

func (f *goFile) mayImport(to string) bool {
	if to == f.dir { // the package itself, from its _test package
		return f.test
	}
	allowed := longestRow(arrows, f.dir)
	if isKit(f.dir) { // a kit sees what its package sees, the package, and what suites share
		allowed = append(slices.Clone(allowed), path.Dir(f.dir), "internal/conform")
	}
	if !below(to, allowed...) {
		return f.test && isKit(to) && to == f.dir+"/"+path.Base(f.dir)+"test"
	}
	return f.test || !isKit(to) || below(f.dir, "scripts") || isKit(f.dir)
}

func (f *goFile) mayUse(name string) bool {
	allowed := longestRow(thirdParty, f.dir)
	if f.test {
		allowed = append(slices.Clone(allowed), testParty...)
	}
	return below(name, allowed...)
}

func longestRow(table map[string][]string, dir string) []string {
	for ; dir != "."; dir = path.Dir(dir) {
		if row, ok := table[dir]; ok {
			return row
		}
	}
	return table[""]
}

// machineid starts a program on macOS and reads nothing on Linux that probe does not read better;
// it is worth its while where the machine id is in the registry or in kenv.
func TestMachineIDOnlyWhereNeeded(t *testing.T) {
	for _, f := range load(t).golang {
		for _, spec := range f.ast.Imports {
			if !strings.Contains(spec.Path.Value, "denisbrodbeck/machineid") {
				continue
			}
			for _, os := range []string{"linux", "darwin"} {
				if f.buildsOn(os) {
					t.Errorf("%s: machineid is for Windows and the BSDs, this builds on %s",
						f.line(spec), os)
				}
			}
		}
	}
}

// buildsOn reports whether the file is built on a system, by its name and its build line.
func (f *goFile) buildsOn(os string) bool {
	for _, known := range []string{"linux", "darwin", "windows", "freebsd", "openbsd", "netbsd",
		"dragonfly", "plan9", "solaris", "aix"} {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
		if strings.HasSuffix(name, "_"+known) && known != os {
			return false
		}
	}
	line, ok := f.buildLine()
	if !ok {
		return true
	}
	expr, err := constraint.Parse(line)
	return err != nil || expr.Eval(func(tag string) bool {
		return tag == os || tag == "unix" && os != "windows" && os != "plan9"
	})
}

func (f *goFile) buildLine() (string, bool) {
	for line := range strings.Lines(f.source) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if strings.HasPrefix(line, "//go:build ") {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

// notInLibrary are packages of the standard library that code which others import stays away from.
var notInLibrary = map[string]string{
	"testing":  "it registers flags in every program that imports the library",
	"os/exec":  "facts come from the kernel, never from the text that a program prints",
	"os/user":  "with cgo it drags libc in, and nothing needs the names of users",
	"net":      "a lock never reaches for the network",
	"net/http": "a lock never reaches for the network",
	"plugin":   "it needs cgo",
	"C":        "the library is pure Go",
}

func TestLibraryImports(t *testing.T) {
	for _, f := range load(t).golang {
		if !f.isLibrary() {
			continue
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why, no := notInLibrary[name]; no {
				t.Errorf("%s: library code must not import %s: %s", f.line(spec), name, why)
			}
		}
	}
}

// The command is no library either, but its tests and those of the kits are the only places where
// "testing" belongs.
func TestTestingOnlyInKits(t *testing.T) {
	for _, f := range load(t).golang {
		for _, spec := range f.ast.Imports {
			if spec.Path.Value == `"testing"` && !f.test && !isKit(f.dir) {
				t.Errorf("%s: testing is for tests and kits (probe/probetest, …)", f.line(spec))
			}
		}
	}
}
