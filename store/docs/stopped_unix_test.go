//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package docs_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile/lockfiletest"
	"github.com/probate-dev/probate/store/docs"
)

// A writer that is stopped is alive, however old its guard looks: nobody writes over it.
func TestFolderStoppedWriter(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	other := lockfiletest.Held(t, f.Path("a"))
	other.Stop()
	old := time.Now().Add(-48 * time.Hour)
	noError(t, os.Chtimes(f.Path("a")+".lock", old, old))
	ctx, impatient := givesUp(t, f.Dir(), errors.New("enough"))
	_, err = impatient.CompareAndSwap(ctx, "a", 1, []byte("2"))
	if !errors.Is(err, docs.ErrContended) {
		t.Errorf("beside a stopped writer: %v", err)
	}
	other.Cont()
	noError(t, other.Check())
	other.Kill()
	v, err := f.CompareAndSwap(always, "a", 1, []byte("2"))
	if err != nil || v != 2 {
		t.Errorf("after its death: %v, %v", v, err)
	}
}
