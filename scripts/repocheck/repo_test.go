package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/probate-dev/probate"
)

// goFile is a Go file of the module, whatever system it is for.
type goFile struct {
	name   string // from the root, with slashes
	dir    string
	test   bool // _test.go
	source string
	fset   *token.FileSet
	ast    *ast.File
}

// line names a place in the file for a message.
func (f *goFile) line(n ast.Node) string {
	at := f.fset.Position(n.Pos())
	at.Filename = f.name
	return at.String()
}

// repo is what all rules look at. Nested modules (scripts/bench) are among files, not among golang:
// their imports are their own.
type repo struct {
	files  []string // every file, from the root, with slashes
	golang []*goFile
}

var theRepo = sync.OnceValues(func() (*repo, error) {
	r := &repo{}
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
				nested[rel] = true
			}
			return nil
		case d.Name() == ".git": // in a work tree it is a file
			return nil
		}
		r.files = append(r.files, rel)
		if !strings.HasSuffix(rel, ".go") || strings.Contains("/"+rel, "/testdata/") {
			return nil
		}
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			if nested[dir] {
				return nil
			}
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := &goFile{name: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
			source: string(source), fset: token.NewFileSet()}
		const mode = parser.ParseComments | parser.SkipObjectResolution
		f.ast, err = parser.ParseFile(f.fset, rel, source, mode)
		r.golang = append(r.golang, f)
		return err
	})
	return r, err
})

func load(t *testing.T) *repo {
	t.Helper()
	r, err := theRepo()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.golang) < 20 {
		t.Fatalf("found %d Go files below %s: that is not this repository", len(r.golang), root)
	}
	return r
}

// read returns the content of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// below reports whether dir is one of the folders or lies below one.
func below(dir string, folders ...string) bool {
	for _, f := range folders {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}

// isKit reports whether dir is a package that helps to test another: probe/probetest.
func isKit(dir string) bool {
	return slices.Contains(supports, dir) || path.Base(dir) == path.Base(path.Dir(dir))+"test"
}

// supports are packages for tests alone that are not named after another package.
var supports = []string{"internal/conform", "internal/vfs/simfs", "lockfile/internal/explore"}

// isLibrary reports whether a file ends up in programs that import this module.
func (f *goFile) isLibrary() bool {
	return !f.test && !isKit(f.dir) && !below(f.dir, "cmd", "examples", "scripts")
}
