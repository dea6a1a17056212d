package statefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

// The link on the way to the file leads elsewhere by the time that the lock is there: what is read
// and written is the file that is locked, and nothing of the other one gets into it.
func TestLinkSwitchedWhileWaiting(t *testing.T) {
	for name, damaged := range map[string]bool{"update": false, "restore": true} {
		f := newFile(t)
		dir := filepath.Dir(f.Path())
		at := func(name string) string { return filepath.Join(dir, name) }
		one := statefile.Open[counter](at("one/state.json"), statefile.Options{})
		two := statefile.Open[counter](at("two/state.json"), statefile.Options{})
		for i, f := range []*statefile.File[counter]{one, two} {
			noError(t, os.Mkdir(filepath.Dir(f.Path()), 0o700))
			noError(t, f.Save(always, counter{}.plus(100*i+10)))
			noError(t, f.Save(always, counter{}.plus(100*i+11)))
		}
		if !symlink("one", at("current")) {
			t.Skip("no symbolic links here")
		}
		path := at("current/state.json")
		held, err := lockfile.Acquire(always, path, lockfile.Options{})
		noError(t, err)
		if damaged {
			noError(t, os.WriteFile(one.Path(), []byte("{"), 0o600))
			noError(t, os.WriteFile(two.Path(), []byte("{"), 0o600))
		}
		waited := false
		switched := statefile.Open[counter](path, statefile.Options{Lock: lockfile.Options{
			OnWaiting: func(lockfile.Inspection) {
				if waited {
					return
				}
				waited = true
				noError(t, os.Remove(at("current")))
				noError(t, os.Symlink("two", at("current")))
				noError(t, held.Release())
			}}})
		if damaged {
			c, err := switched.Restore(always)
			noError(t, err)
			if c.N != 10 {
				t.Errorf("%s: %+v", name, c)
			}
			stands(t, one, 10, 10)
			if _, err := two.Load(); err == nil {
				t.Error(name, ": the other file was restored")
			}
		} else {
			_, err := switched.Update(always, increment)
			noError(t, err)
			stands(t, one, 12, 11)
			stands(t, two, 111, 110)
		}
		if !waited {
			t.Error(name, ": it did not wait")
		}
	}
}
