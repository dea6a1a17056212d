package statefile_test

import (
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

// What to do next is said once, also where the lock says it.
func TestNextIsSaidOnce(t *testing.T) {
	f := newFile(t)
	lock, err := lockfile.TryAcquire(f.Path(), lockfile.Options{})
	noError(t, err)
	defer lock.Release()
	_, err = f.TryUpdate(func(c counter) (counter, error) { return c, nil })
	e := wants(t, err, statefile.ErrContended)
	if n := strings.Count(err.Error(), "next: "); n != 1 || !strings.Contains(err.Error(), e.Next) {
		t.Errorf("%q is said %d times in: %v", e.Next, n, err)
	}
}
