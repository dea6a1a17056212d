package repocheck

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// calls goes through every call of the form X.Name(…) in a file.
func (f *goFile) calls(fn func(call *ast.CallExpr, x, name string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			x := ""
			if id, ok := sel.X.(*ast.Ident); ok {
				x = id.Name
			}
			fn(call, x, sel.Sel.Name)
		}
		return true
	})
}

// Probing must disturb nobody: asking whether a process exists never sends it anything.
func TestLibrarySendsNoSignal(t *testing.T) {
	for _, f := range load(t).golang {
		if !f.isLibrary() {
			continue
		}
		f.calls(func(call *ast.CallExpr, x, name string) {
			switch name {
			case "Kill", "Tgkill", "PidfdSendSignal", "Signal", "SendSignal", "TerminateProcess":
			default:
				return
			}
			system := x == "unix" || x == "syscall" || x == "windows"
			if system && name != "TerminateProcess" && len(call.Args) > 1 && isZero(call.Args[1]) {
				return
			}
			if f.imports("sync") && name == "Signal" && len(call.Args) == 0 { // sync.Cond
				return
			}
			t.Errorf("%s: library code must not send a signal (signal 0 as a literal is none)",
				f.line(call))
		})
	}
}

func isZero(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Value == "0"
}

func (f *goFile) imports(name string) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == strconv.Quote(name)
	})
}

// fileTimes are names under which systems hand out the times of a file.
var fileTimes = []string{"ModTime", "ModifiedAt", "Mtim", "Mtimespec", "Mtime", "Ctim", "Ctimespec",
	"Ctime", "Atim", "Atimespec", "Atime", "LastWriteTime", "LastAccessTime"}

// timesAllowed may read them: to hand them on to people.
var timesAllowed = map[string]string{
	"internal/vfs":        "reads them for Inspect",
	"lockfile/inspect.go": "shows them",
	"cmd/probate":         "prints them",
}

// Age is never evidence. Where no file time can be read, none can decide.
func TestNoFileTimes(t *testing.T) {
	for _, f := range load(t).golang {
		if f.test || below(f.dir, "scripts") || timesAllowed[f.name] != "" {
			continue
		}
		if longestKey(timesAllowed, f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(fileTimes, sel.Sel.Name) {
				t.Errorf("%s: %s: the times of files are shown to people in lockfile/inspect.go, "+
					"and are never evidence", f.line(n), sel.Sel.Name)
			}
			return true
		})
	}
}

func longestKey(table map[string]string, dir string) bool {
	for key := range table {
		if below(dir, key) {
			return true
		}
	}
	return false
}

// The verdict is a function of the record and of what was observed. A clock in it would be a
// heartbeat.
func TestIdentityReadsNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "After", "Sleep"}
	for _, f := range load(t).golang {
		if f.dir != "identity" || f.test {
			continue
		}
		f.calls(func(call *ast.CallExpr, x, name string) {
			if x == "time" && slices.Contains(clock, name) {
				t.Errorf("%s: time.%s: no verdict depends on the clock", f.line(call), name)
			}
		})
	}
}

// A file system between the program and the disk is for programs that test themselves.
func TestOnlyTestsInterpose(t *testing.T) {
	for _, f := range load(t).golang {
		if f.test || below(f.dir, "scripts", "internal/vfs/faultfs") {
			continue
		}
		f.calls(func(call *ast.CallExpr, _, name string) {
			if name == "Interpose" {
				t.Errorf("%s: only tests, and scripts, put something in the place of the disk",
					f.line(call))
			}
		})
	}
}

// A test that sleeps is either slow or wrong, and on a busy machine both. Pipes and events say when
// something has happened.
func TestTestsDoNotSleep(t *testing.T) {
	allowed := map[string]string{
		"cmd/probate/internal/cli/script_test.go": "scripts cannot hold a pipe to every program: " +
			"some commands poll for a condition, with an end",
		"cmd/probate/internal/cli/script_windows_test.go": "a file takes the place of a signal",
		"cmd/probate/internal/cli/faults_linux_test.go": "what a process does a little later, by " +
			"itself, is polled for, with an end",
		"lockfile/contend_storm_unix_test.go": "kills at random moments are what it does",
		"lockfile/fault_errno_linux_test.go": "what a process does a little later, by " +
			"itself, is polled for, with an end",
	}
	for _, f := range load(t).golang {
		if !f.test || allowed[f.name] != "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s: tests wait for pipes and events, not for time", f.line(n))
				}
			}
			return true
		})
	}
}

// Who reads "SKIP" must learn what is missing. CI compares the names with scripts/skips.txt.
func TestSkipsNameTheirReason(t *testing.T) {
	for _, f := range load(t).golang {
		f.calls(func(call *ast.CallExpr, x, name string) {
			if !slices.Contains([]string{"t", "b", "f", "tb"}, x) {
				return
			}
			switch name {
			case "SkipNow":
				t.Errorf("%s: SkipNow says nothing: use Skip with a reason", f.line(call))
			case "Skip", "Skipf":
				if len(call.Args) == 0 || isTooShort(call.Args[0]) {
					t.Errorf("%s: a skip names its reason", f.line(call))
				}
			}
		})
	}
}

func isTooShort(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && len(strings.TrimSpace(strings.Trim(lit.Value, "\"`"))) < 8
}
