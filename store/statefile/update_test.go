package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/probate-dev/probate/store/statefile"
)

func TestLoadSaveUpdate(t *testing.T) {
	f := newFile(t)
	_, err := f.Load()
	wants(t, err, os.ErrNotExist)
	_, err = f.LoadPrevious()
	wants(t, err, os.ErrNotExist)

	c, err := f.Update(always, increment) // the first one starts from nothing
	noError(t, err)
	if c.N != 1 {
		t.Errorf("Update returned %+v", c)
	}
	stands(t, f, 1, -1)
	noError(t, f.Save(always, counter{}.plus(10)))
	stands(t, f, 10, 1)
	_, err = f.TryUpdate(increment)
	noError(t, err)
	stands(t, f, 11, 10)

	// What is the same already is no new version.
	noError(t, f.Save(always, counter{}.plus(11)))
	stands(t, f, 11, 10)

	text, err := os.ReadFile(f.Path())
	noError(t, err)
	if want := `{"n":11,"twice":11}` + "\n"; string(text) != want {
		t.Errorf("the file holds %q, want %q", text, want)
	}
	if info, err := os.Stat(f.Path()); runtime.GOOS != "windows" &&
		(err != nil || info.Mode() != 0o600) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	free(t, f.Path())
}

// An error, a panic and an ended goroutine change nothing, and nobody waits for them afterwards.
func TestChangeFails(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(5)))
	noError(t, f.Save(always, counter{}.plus(6)))
	own := errors.New("changed my mind")
	_, err := f.Update(always, func(c counter) (counter, error) { return c.plus(1), own })
	if err != own {
		t.Errorf("error is %v, want %v as it is", err, own)
	}
	func() {
		defer func() {
			if p := recover(); p != "halfway" {
				t.Errorf("recovered %v", p)
			}
		}()
		f.Update(always, func(counter) (counter, error) { panic("halfway") })
	}()
	var wg sync.WaitGroup
	wg.Go(func() {
		f.Update(always, func(counter) (counter, error) { runtime.Goexit(); panic("not reached") })
	})
	wg.Wait()
	ctx, cancel := context.WithCancelCause(always)
	_, err = f.Update(ctx, func(c counter) (counter, error) { cancel(own); return c.plus(1), nil })
	wants(t, err, own)
	_, err = f.Update(ctx, increment)
	wants(t, err, own)

	free(t, f.Path())
	stands(t, f, 6, 5)
	_, err = f.TryUpdate(increment)
	noError(t, err)
}

// What the codec could not read again is not written.
func TestUnreadableIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f := statefile.OpenWith[counter](path, oneWay{}, statefile.Options{})
	err := f.Save(always, counter{})
	if err == nil || !strings.Contains(err.Error(), "decoded again") {
		t.Errorf("error is %v", err)
	}
	g := statefile.Open[chan int](path, statefile.Options{})
	if err := g.Save(always, nil); err == nil {
		t.Error("a channel was written")
	}
	small := statefile.Open[string](path, statefile.Options{MaxBytes: 10})
	noError(t, small.Save(always, "1234567")) // with quotes and line end, 10
	if err := small.Save(always, "12345678"); err == nil {
		t.Error("a file was written that is too large to be read")
	}
	if s, err := small.Load(); err != nil || s != "1234567" {
		t.Errorf("Load: %q, %v", s, err)
	}
}

type oneWay struct{ statefile.JSON[counter] }

func (oneWay) Decode([]byte) (counter, error) { return counter{}, errors.New("cannot read") }

// An update inside an update says so, under whatever name the file goes, and does not wait for
// itself. Looking is fine.
func TestReentrant(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	link := filepath.Join(t.TempDir(), "link.json")
	others := []*statefile.File[counter]{f, statefile.Open[counter](f.Path(), statefile.Options{})}
	if symlink(f.Path(), link) {
		others = append(others, statefile.Open[counter](link, statefile.Options{}))
	}
	_, err := f.Update(always, func(c counter) (counter, error) {
		for _, g := range others {
			_, err := g.Update(always, increment)
			wants(t, err, statefile.ErrReentrant)
			_, err = g.TryUpdate(increment)
			wants(t, err, statefile.ErrReentrant)
			wants(t, g.Save(always, c), statefile.ErrReentrant)
			_, err = g.Restore(always)
			wants(t, err, statefile.ErrReentrant)
			old, err := g.Load()
			if err != nil || old.N != 1 {
				t.Errorf("Load inside an update: %+v, %v", old, err)
			}
		}
		// Another file is another matter.
		_, err := statefile.Open[counter](
			f.Path()+".2",
			statefile.Options{},
		).Update(always, increment)
		return c.plus(1), err
	})
	noError(t, err)
	stands(t, f, 2, 1)
	_, err = f.Update(always, increment) // and afterwards all is as before
	noError(t, err)
}

// Another goroutine waits its turn, and can be told that it is this very process that is at it.
func TestOtherGoroutine(t *testing.T) {
	f := newFile(t)
	_, err := f.Update(always, func(c counter) (counter, error) {
		result := make(chan error)
		ctx, cancel := context.WithCancelCause(always)
		own := errors.New("enough")
		go func() {
			_, err := f.TryUpdate(increment)
			result <- err
			_, err = f.Update(ctx, increment)
			result <- err
		}()
		wants(t, <-result, statefile.ErrContended)
		cancel(own)
		wants(t, <-result, own)
		return c.plus(1), nil
	})
	noError(t, err)
	stands(t, f, 1, -1)
}

func TestGoroutinesLoseNothing(t *testing.T) {
	f := newFile(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			g := f
			if i%2 == 1 {
				g = statefile.Open[counter](f.Path(), statefile.Options{})
			}
			for range 20 {
				if _, err := g.Update(always, increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stands(t, f, 160, 159)
}

// Options that mean nothing are refused, naming field and value.
func TestOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for want, opts := range map[string]statefile.Options{
		"Mode 0400":   {Mode: 0o400},
		"MaxBytes -1": {MaxBytes: -1},
		"GateWait":    {Lock: lockOptions(-1)},
	} {
		err := statefile.Open[int](path, opts).Save(always, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one that says %s", err, want)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	noError(t, statefile.Open[int](path, statefile.Options{Mode: 0o640}).Save(always, 1))
	info, err := os.Stat(path)
	if noError(t, err); info.Mode() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestCodec(t *testing.T) {
	pretty := statefile.JSON[map[string]string]{Indent: "  "}
	data, err := pretty.Encode(map[string]string{"a": "<&>"})
	if want := "{\n  \"a\": \"<&>\"\n}\n"; err != nil || string(data) != want {
		t.Errorf("Encode: %q, %v; want %q", data, err, want)
	}
	strict := statefile.JSON[counter]{Strict: true}
	if _, err := strict.Decode([]byte(`{"n":1,"m":2}`)); err == nil {
		t.Error("Strict took a field that an update would drop")
	}
	var plain statefile.JSON[counter]
	for _, text := range []string{"", " \n", "{", `{"n":1} x`, `{"n":1}{`, "\x00\x00", `{"n":"x"}`} {
		if c, err := plain.Decode([]byte(text)); err == nil || c != (counter{}) {
			t.Errorf("Decode(%q): %+v, %v", text, c, err)
		}
	}
	if c, err := strict.Decode(fmt.Appendln(nil, `{"n":1,"twice":1}`)); err != nil || c.N != 1 {
		t.Errorf("Decode: %+v, %v", c, err)
	}
}
