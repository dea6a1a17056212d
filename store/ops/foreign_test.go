package ops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/store/ops"
)

// What is no file of the store, or not under that name, is named and left alone.
func TestForeign(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, dir, file string){
		"folder": func(t *testing.T, _, file string) {
			noError(t, os.Remove(file))
			noError(t, os.Mkdir(file, 0o700))
		},
		"another environment's": func(t *testing.T, dir, file string) {
			data, err := os.ReadFile(one(t, dir, "sound-*.op.json"))
			noError(t, err)
			noError(t, os.WriteFile(file, data, 0o600))
		},
		"of another kind": func(t *testing.T, dir, file string) {
			data, err := os.ReadFile(one(t, dir, "requests/sound-*.json"))
			noError(t, err)
			noError(t, os.WriteFile(file, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, ops.Options{})
			begin(t, s, "sound", "sound")
			swap(t, s, begin(t, s, "r", "e"), "applying")
			file := one(t, dir, "e-*.op.json")
			put(t, dir, file)
			blocked(t, dir, ops.ErrForeign, file, func(s *ops.Folder) []error {
				_, get := s.Get("r")
				_, _, other := s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
				return []error{get, other}
			})
		})
	}
	for _, name := range []string{"notes.txt", ".DS_Store", "finished/x.op.json", "e.op.json",
		"E-" + strings.Repeat("0", 64) + ".op.json"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			begin(t, open(t, dir, ops.Options{}), "sound", "sound")
			file := filepath.Join(dir, filepath.FromSlash(name))
			noError(t, os.WriteFile(file, []byte("x"), 0o600))
			blocked(t, dir, ops.ErrForeign, file, func(*ops.Folder) []error { return nil })
			if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
