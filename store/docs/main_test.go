package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/docstest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
)

func TestMain(m *testing.M) { probetest.Run(m) }

var always = context.Background()

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func init() {
	probetest.Register("writer", writer)
}

// swap is what a child is told to do.
type swap struct {
	Dir      string
	Key      string
	Expected docs.Version
	Value    json.RawMessage
	Delete   bool   // and not swap
	KillAt   int    // step before which it is killed; 0: never
	Fail     string // kind of calls that fail
}

// writer is a process that does one compare-and-swap or deletion in a folder and says "ok" or the
// error.
func writer(p *probetest.Peer) {
	var s swap
	p.Check(json.Unmarshal([]byte(p.Arg(0)), &s))
	f, err := docs.OpenFolder(s.Dir, docs.FolderOptions{})
	p.Check(err)
	if s.KillAt > 0 {
		_, err := crashtest.KillAt(s.KillAt)
		p.Check(err)
	}
	if s.Fail != "" {
		p.Check(crashtest.Fail(s.Fail, syscall.EIO))
	}
	if s.Delete {
		err = f.Delete(always, s.Key, s.Expected)
	} else {
		_, err = f.CompareAndSwap(always, s.Key, s.Expected, s.Value)
	}
	if err != nil {
		p.Send(strconv.Quote(err.Error()))
		return
	}
	p.Send("ok")
}

// in runs a writer and returns its answer, "" when it was killed.
func (s swap) in(t testing.TB) string {
	arg, err := json.Marshal(s)
	noError(t, err)
	child := probetest.Start(t, "writer", string(arg))
	answer, _ := child.Next()
	child.Kill()
	return answer
}

func newFolder(t testing.TB) *docs.Folder {
	t.Helper()
	f, err := docs.OpenFolder(t.TempDir(), docs.FolderOptions{})
	noError(t, err)
	return f
}

// givesUp opens a folder once more, and returns a context that ends when a writer waits there.
func givesUp(t testing.TB, dir string, cause error) (context.Context, *docs.Folder) {
	t.Helper()
	ctx, stop := context.WithCancelCause(always)
	t.Cleanup(func() { stop(nil) })
	f, err := docs.OpenFolder(dir, docs.FolderOptions{Lock: lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { stop(cause) }}})
	noError(t, err)
	return ctx, f
}

// folderOptions know what to do to a folder.
func folderOptions(t testing.TB) docstest.Options {
	again := func(s docs.Store) (docs.Store, error) {
		return docs.OpenFolder(dirOf(s), docs.FolderOptions{})
	}
	opts := docstest.Options{
		Second: again,
		Reopen: again,
		Damage: func(s docs.Store, key string) error {
			path := s.(*docs.Folder).Path(key)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, data[:len(data)-5], 0o600)
		},
		Raw: func(s docs.Store, key string) ([]byte, error) {
			return os.ReadFile(s.(*docs.Folder).Path(key))
		},
	}
	if !crashtest.Supported {
		return opts
	}
	opts.FailWrites = func(s docs.Store, key string, expected docs.Version, value []byte) error {
		for _, kind := range []string{"flush", "write", "rename"} {
			answer := swap{
				Dir:      dirOf(s),
				Key:      key,
				Expected: expected,
				Value:    value,
				Fail:     kind,
			}.in(
				t,
			)
			if answer == "ok" || answer == "" {
				return nil
			}
		}
		return syscall.EIO
	}
	opts.Interrupt = func(s docs.Store, key string, expected docs.Version, value []byte, step int) (
		bool, error) {
		answer := swap{
			Dir:      dirOf(s),
			Key:      key,
			Expected: expected,
			Value:    value,
			KillAt:   step,
		}.in(
			t,
		)
		if answer != "ok" && answer != "" {
			return false, fmt.Errorf("the writer says %s", answer)
		}
		return answer == "ok", nil
	}
	return opts
}

func dirOf(s docs.Store) string { return s.(*docs.Folder).Dir() }

func TestMemoryConforms(t *testing.T) {
	docstest.Run(t, func(*testing.T) docs.Store { return docs.NewMemory() }, docstest.Options{
		Second: func(s docs.Store) (docs.Store, error) { return s, nil },
	})
}

func TestFolderConforms(t *testing.T) {
	docstest.Run(t, func(t *testing.T) docs.Store { return newFolder(t) }, folderOptions(t))
}
