package conform

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	errOwn := errors.New("its own error")
	never := make(chan error)
	for name, c := range map[string]struct {
		patience time.Duration
		check    func() error
		says     string // "": no error
	}{
		"passes":   {time.Minute, func() error { return nil }, ""},
		"fails":    {time.Minute, func() error { return errOwn }, errOwn.Error()},
		"panics":   {time.Minute, func() error { panic("at the store") }, "panic: at the store\n"},
		"exits":    {time.Minute, func() error { runtime.Goexit(); return nil }, "ended its goroutine"},
		"hangs":    {time.Nanosecond, func() error { return <-never }, "hangs: no answer in 1ns"},
		"one of 2": {time.Minute, func() error { return All(pair(nil, errOwn)) }, errOwn.Error()},
		"both":     {time.Minute, func() error { return All(pair(errOwn, errors.New("b"))) }, "error\nb"},
	} {
		err := Run(c.patience, c.check)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func pair(a, b error) []<-chan error {
	return []<-chan error{Spawn(func() error { return a }), Spawn(func() error { return b })}
}
