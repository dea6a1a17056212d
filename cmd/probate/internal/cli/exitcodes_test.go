package cli

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// TestEveryExitCodeIsExplained: the help page names every constant, so that a new one cannot be
// forgotten.
func TestEveryExitCodeIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "exitcodes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			constants += len(d.Specs)
		}
		return true
	})
	if constants != len(exitMeanings) {
		t.Errorf("%d constants, %d explained", constants, len(exitMeanings))
	}
	seen := map[int]bool{}
	for _, m := range exitMeanings {
		if seen[m.code] {
			t.Errorf("code %d is explained twice", m.code)
		}
		seen[m.code] = true
		if !strings.Contains(exitCodesText(), fmt.Sprintf("  %d", m.code)) {
			t.Errorf("the help does not name %d", m.code)
		}
	}
}

func TestAFailureIsWorstThenTheHighestCode(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{
		{0, 0, 0}, {0, 10, 10}, {12, 11, 12}, {11, 12, 12}, {1, 12, 1}, {12, 1, 1}, {0, 1, 1},
	} {
		if got := worse(c.a, c.b); got != c.want {
			t.Errorf("worse(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestEveryAnswerHasItsCode: also behind wrapping, and with the more exact answer first.
func TestEveryAnswerHasItsCode(t *testing.T) {
	busy := func(v identity.Verdict, cause error) error {
		in := lockfile.Inspection{
			State:   "/s",
			Lock:    "/s.lock",
			Finding: identity.Finding{Verdict: v},
		}
		return refused("s", &lockfile.BusyError{Inspection: in, Cause: cause, Op: "acquire"})
	}
	lost := &lockfile.Error{Op: "commit", Path: "/s", Err: lockfile.ErrLost}
	for _, c := range []struct {
		err  error
		code int
		kind string
	}{
		{&usageError{what: "x"}, exitUsage, "usage"},
		{busy(identity.Alive, nil), exitHeld, "busy"},
		{busy(identity.Unknown, nil), exitUnknown, "busy"},
		{busy(identity.Gone, errors.New("recovery is off")), exitGone, "busy"},
		{busy(identity.Gone, lockfile.ErrGateBusy), exitHeld, "busy"},
		{busy(identity.Free, lockfile.ErrGateBusy), exitHeld, "busy"},
		{lost, exitLost, "lost"},
		{fmt.Errorf("write: %w", lost), exitLost, "lost"},
		{&lockfile.Error{Op: "commit", Path: "/s", Err: lockfile.ErrFenced}, exitFenced, "fenced"},
		{errors.Join(lockfile.ErrUnsure, lockfile.ErrFenced), exitUnsure, "unsure"},
		{&lockfile.Error{Op: "break", Path: "/s", Err: lockfile.ErrChanged}, exitChanged, "changed"},
		{&lockfile.Error{Op: "acquire", Path: "/s", Err: os.ErrPermission}, exitFailure, "permission"},
		{&codeError{code: 77, err: busy(identity.Alive, nil)}, 77, "busy"},
		{&codeError{exitNotFound, "command", errors.New("x")}, exitNotFound, "command"},
	} {
		if f := explain(c.err); f.Code != c.code || f.Kind != c.kind {
			t.Errorf("%v: code %d, kind %s; want %d, %s", c.err, f.Code, f.Kind, c.code, c.kind)
		}
	}
}
