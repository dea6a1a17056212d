package ops_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
	"pgregory.net/rapid"
)

// The store on disk and the one in memory, told the same things in any order, say the same.
func TestLikeMemory(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		noError(t, os.Mkdir(dir, 0o700))
		defer os.RemoveAll(dir)
		disk, err := ops.Open(dir, opstest.Phases(), ops.Options{})
		noError(t, err)
		memory, err := ops.NewMemory(opstest.Phases(), ops.Options{})
		noError(t, err)
		pick := func(what string, from ...string) string {
			return rapid.SampledFrom(from).Draw(t,
				what)
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			id, env := pick("id", "a", "b", "c", "d", "e"), pick("environment", "x", "y")
			phase := ops.Phase(pick("phase", "", "applying", "applied", "cancelled", "failed"))
			digest, name := pick("digest", "1", "1", "1", "2"), pick("name", "m", "n")
			verb := pick("verb", "begin", "begin", "swap", "swap", "swap", "own", "accept", "follow", "archive")
			behind := rapid.SampledFrom([]ops.Revision{0, 0, 0, 1}).Draw(t, "behind")
			next := pick("next", "a", "b", "c", "d", "e", "f")
			do := func(s ops.Store) string {
				now, _ := s.Get(id)
				revision := now.Revision - behind
				var err error
				word := false
				switch verb {
				case "begin":
					_, word, err = s.Begin(ctx, ops.Request{ID: id, Environment: env,
						Digest: digest})
				case "swap":
					_, err = s.CompareAndSwap(ctx, id, revision, ops.Change{Phase: phase,
						Data: name})
				case "follow":
					_, err = s.CompareAndSwap(ctx, id, revision, ops.Change{Phase: phase,
						FollowUp: &ops.Request{ID: next, Digest: digest}})
				case "own":
					_, err = s.RecordOwned(ctx, id, revision,
						ops.Resource{Kind: "k", Name: name, Data: []byte(digest)})
				case "accept":
					_, word, err = s.Accept(ctx, ops.Receipt{Nonce: name, Operation: id,
						Outcome: []byte(digest)})
				case "archive":
					var n int
					n, err = s.ArchiveFinished(ctx, env)
					word = n > 0
				}
				return fmt.Sprint(kind(t, err), " ", word)
			}
			if a, b := do(disk), do(memory); a != b {
				t.Fatalf("%s %s: %s on disk, %s in memory", verb, id, a, b)
			}
			if a, b := view(t, disk), view(t, memory); !slices.Equal(a, b) {
				t.Fatalf("after %s %s:\n%q on disk\n%q in memory", verb, id, a, b)
			}
		}
	})
}

func kind(t *rapid.T, err error) string {
	if err == nil {
		return "ok"
	}
	for _, known := range []error{ops.ErrInvalid, ops.ErrNotFound, ops.ErrConflict, ops.ErrBusy,
		ops.ErrStale, ops.ErrFinished, ops.ErrPhase, ops.ErrNonceSpent} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	t.Fatalf("%v", err)
	return ""
}

// view returns what two stores must agree on.
func view(t *rapid.T, s ops.Store) []string {
	var lines []string
	for name, list := range map[string]iter.Seq2[ops.Operation, error]{"all": s.All(),
		"archived": s.Archived()} {
		for op, err := range list {
			noError(t, err)
			op.Owner, op.Writer, op.Claims, op.Others = ops.Stamp{}, ops.Stamp{}, nil, nil
			op.CreatedAt, op.UpdatedAt = time.Time{}, time.Time{}
			lines = append(lines, fmt.Sprintf("%s %+v", name, op))
		}
	}
	for r, err := range s.Recoverable() {
		noError(t, err)
		lines = append(lines, fmt.Sprint("recoverable ", r.Operation.ID, r.Finding.Verdict))
	}
	slices.Sort(lines)
	return lines
}
