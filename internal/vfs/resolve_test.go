//go:build !windows

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestResolve(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must{t}.ok(err)
	at := func(p string) string { return filepath.Join(root, p) }
	for _, dir := range []string{"real/sub", "other/deep"} {
		must{t}.ok(os.MkdirAll(at(dir), 0o700))
	}
	for link, target := range map[string]string{
		"dirlink":       "real/sub",
		"up":            "other/deep",
		"file":          "real/S", // dangling
		"real/abs":      at("other/target"),
		"real/again":    "abs", // a link to a link
		"real/loop":     "loop",
		"real/todir":    "sub/",
		"real/todots":   "sub/..",
		"real/viaup":    "../up/../T", // up is a link: its parent is other
		"real/nowhere":  "gone/T",
		"other/deep/in": "../../real/sub",
	} {
		must{t}.ok(os.Symlink(target, at(link)))
	}
	t.Chdir(root)
	for _, c := range []struct{ path, dir, base string }{
		{at("real/S"), "real", "S"},
		{"real/S", "real", "S"},
		{"./real//sub/../S", "real", "S"},
		{"S", "", "S"},
		{"dirlink/S", "real/sub", "S"},
		{"dirlink/../S", "real", "S"}, // not "S" in the root, as the text would have it
		{"up/in/S", "real/sub", "S"},
		{"file", "real", "S"},
		{"real/abs", "other", "target"},
		{"real/again", "other", "target"},
		{"real/viaup", "other", "T"},
		{"real/...", "real", "..."},
		{"real/a b\n", "real", "a b\n"},
	} {
		dir, base, err := OS().Resolve(c.path)
		if err != nil || dir != filepath.Join(root, c.dir) || base != c.base {
			t.Errorf("Resolve(%q) = %q, %q, %v; want %q, %q", c.path, dir, base, err,
				filepath.Join(root, c.dir), c.base)
		}
	}
	for _, path := range []string{"", ".", "..", "/", "//", "real/", "real/.", "real/..", "a\x00b",
		"real/sub/../..", "real/todir", "real/todots", "real/loop"} {
		if dir, base, err := OS().Resolve(path); err == nil {
			t.Errorf("Resolve(%q) = %q, %q", path, dir, base)
		}
	}
	for _, path := range []string{"gone/S", "real/nowhere"} {
		_, _, err := OS().Resolve(path)
		must{t}.is(err, fs.ErrNotExist)
	}
	if _, _, err := OS().Resolve("real/S/T"); err == nil { // real/S does not exist
		t.Error("Resolve in a file that is not there")
	}
}
