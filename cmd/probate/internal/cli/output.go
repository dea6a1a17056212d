package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/probate-dev/probate/lockfile"
)

// results is standard output, with the first error kept: results that did not arrive are a failure.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

// options are those of the library that every verb has in common: what is worth telling, such as a
// repaired fence, goes to standard error.
func (a *app) options() lockfile.Options {
	return lockfile.Options{Logger: slog.New(&talk{a})}
}

// talk is a slog.Handler that says the message and what belongs to it, on one line.
type talk struct{ a *app }

func (t *talk) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (t *talk) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(attr slog.Attr) bool {
		fmt.Fprintf(&b, ", %s %s", attr.Key, attr.Value)
		return true
	})
	t.a.say("%s", b.String())
	return nil
}

func (t *talk) WithAttrs([]slog.Attr) slog.Handler { return t }
func (t *talk) WithGroup(string) slog.Handler      { return t }
