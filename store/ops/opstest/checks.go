//lint:file-ignore ST1005 the messages begin with the names of methods

package opstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/probate-dev/probate/store/ops"
)

func begin(s *store) error {
	if _, err := s.Get("r1"); !errors.Is(err, ops.ErrNotFound) {
		return fmt.Errorf("Get in an empty store: %v", err)
	}
	if err := s.lists(nil, nil, nil); err != nil {
		return err
	}
	op, err := s.begun("r1", "e")
	if err != nil {
		return err
	}
	again := func(op ops.Operation) error {
		got, begun, err := s.Begin(ctx, ops.Request{ID: "r1", Environment: "e",
			Data: json.RawMessage(` { "for" : "r1" } `)})
		if err != nil || begun {
			return fmt.Errorf("the same request again: begun %v, %v", begun, err)
		}
		return equal("the same request again", got, op)
	}
	if err := again(op); err != nil {
		return err
	}
	if op, err = s.finish(op); err != nil {
		return err
	}
	if err := again(op); err != nil {
		return fmt.Errorf("when it is finished: %w", err)
	}
	if _, err := s.done("r2", "e"); err != nil {
		return err
	}
	if err := again(op); err != nil {
		return fmt.Errorf("when another has finished: %w", err)
	}
	if n, err := s.ArchiveFinished(ctx); err != nil || n != 2 {
		return fmt.Errorf("ArchiveFinished: %d, %v", n, err)
	}
	op.Archived = true
	if err := again(op); err != nil {
		return fmt.Errorf("when it is archived: %w", err)
	}
	return s.is(op)
}

func beginConflict(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	try := func(r ops.Request) error {
		_, begun, err := s.Begin(ctx, r)
		if begun {
			return fmt.Errorf("Begin(%+v) has begun", r)
		}
		if err := refused(fmt.Sprintf("Begin(%+v)", r), err, ops.ErrConflict,
			op.Revision); err != nil {
			return err
		}
		return s.is(op)
	}
	tryAll := func() error {
		return errors.Join(
			try(ops.Request{ID: "r", Environment: "e", Data: map[string]string{"for": "x"}}),
			try(ops.Request{ID: "r", Environment: "e", Digest: "other"}),
			try(ops.Request{ID: "r", Environment: "other", Digest: op.Digest}))
	}
	if err := tryAll(); err != nil {
		return err
	}
	if op, err = s.finish(op); err != nil {
		return err
	}
	if err := tryAll(); err != nil {
		return err
	}
	if _, err := s.ArchiveFinished(ctx); err != nil {
		return err
	}
	op.Archived = true
	return tryAll()
}

func beginBusy(s *store) error {
	op, err := s.begun("r1", "e")
	if err != nil {
		return err
	}
	for _, phase := range []ops.Phase{"", "applying", "applied"} {
		if phase != "" {
			if op, err = s.swapped(op, ops.Change{Phase: phase}); err != nil {
				return err
			}
		}
		if phase == "applied" {
			break
		}
		_, begun, err := s.Begin(ctx, ops.Request{ID: "r2", Environment: "e"})
		if begun {
			return errors.New("two operations are unfinished in one environment")
		}
		if err := refused("Begin of a second one", err, ops.ErrBusy, op.Revision); err != nil {
			return err
		}
		if _, err := s.Get("r2"); !errors.Is(err, ops.ErrNotFound) {
			return fmt.Errorf("Get of what was refused: %v", err)
		}
	}
	if _, err := s.begun("r3", "another"); err != nil {
		return err
	}
	if _, err := s.begun("r4", "e"); err != nil {
		return err
	}
	return s.lists([]string{"r1", "r3", "r4"}, nil, []string{"r3", "r4"})
}

// folded are texts that some filesystem takes for one another, or for something else.
var folded = []string{"a", "A", "a ", "a.", ".", "..", "../a", "a/b", `a\b`, "/", "a\x00b", "a\x01",
	"con", "NUL", "aux.json", "a:b", "~", "*?", "é", "e\u0301", "É", "ß", "SS", "ſ", "ﬁ", "\u200b",
	"constructor", "__proto__", "toString", " ", "\n", "-", "💥",
	strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("ü", 2000)}

func names(s *store) error {
	for _, name := range folded {
		if _, err := s.begun("id "+name, "environment "+name); err != nil {
			return err
		}
	}
	for _, name := range folded {
		op, err := s.begun(name, name)
		if err != nil {
			return err
		}
		if _, err = s.finish(op); err != nil {
			return err
		}
	}
	n, err := s.ArchiveFinished(ctx, folded...)
	if err != nil || n != len(folded) {
		return fmt.Errorf("ArchiveFinished: %d, %v, want %d", n, err, len(folded))
	}
	var unfinished []string
	for _, name := range folded {
		unfinished = append(unfinished, "id "+name)
	}
	return s.lists(unfinished, folded, unfinished)
}

func exact(s *store) error {
	for i, raw := range []string{`null`, `{}`, `[]`, `"<&>\u2028"`, `12345678901234567890123`,
		`{"b":1.10,"a":1e400}`, `{"__proto__":{"constructor":1}}`, `"é e\u0301"`, `0.1`, `-0`,
		strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500)} {
		id := fmt.Sprint(i)
		op, _, err := s.Begin(ctx, ops.Request{ID: id, Environment: id, Data: json.RawMessage(raw)})
		if err != nil {
			return fmt.Errorf("%.60s: %w", raw, err)
		}
		if string(op.Data) != raw {
			return fmt.Errorf("%.60s became %.60s", raw, op.Data)
		}
		if op, err = s.swapped(op, ops.Change{Phase: "applying"}); err != nil {
			return err
		}
		if string(op.Data) != raw {
			return fmt.Errorf("%.60s became %.60s with another phase", raw, op.Data)
		}
		if op, err = s.swapped(op, ops.Change{Data: []string{raw}}); err != nil {
			return err
		}
		var back []string
		if err := op.Decode(&back); err != nil || len(back) != 1 || back[0] != raw {
			return fmt.Errorf("%.60s in a string became %.60q, %v", raw, back, err)
		}
	}
	return nil
}

// copies: what a store returns, and what it was given, is no way into it.
func copies(s *store) error {
	data := json.RawMessage(`{"n":1}`)
	op, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e", Data: data})
	if err != nil {
		return err
	}
	made := ops.Resource{Kind: "disk", Name: "d", Data: json.RawMessage(`{"n":2}`)}
	if op, err = s.RecordOwned(ctx, "r", op.Revision, made); err != nil {
		return err
	}
	copy(data, `{"n":8}`)
	copy(made.Data, `{"n":8}`)
	for range 2 {
		got, err := s.Get("r")
		if err != nil {
			return err
		}
		if !bytes.Equal(got.Data, []byte(`{"n":1}`)) || len(got.Owned) != 1 ||
			!bytes.Equal(got.Owned[0].Data, []byte(`{"n":2}`)) {
			return fmt.Errorf("who gave or got it changed it: %s, %s", got.Data, got.Owned)
		}
		for _, mine := range []ops.Operation{got, op} {
			copy(mine.Data, `{"n":9}`)
			copy(mine.Owned[0].Data, `{"n":9}`)
			mine.Owned[0].Name = "x"
		}
	}
	return nil
}

func arguments(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	long := strings.Repeat("x", ops.MaxID+1)
	bad := map[string]error{}
	for _, text := range []string{"", "\xff", "a\xc3", long} {
		_, _, bad["id "+text] = s.Begin(ctx, ops.Request{ID: text, Environment: "n"})
		_, _, bad["environment "+text] = s.Begin(ctx, ops.Request{ID: "n", Environment: text})
		_, bad["owned "+text] = s.RecordOwned(ctx, "r", op.Revision, ops.Resource{Kind: "k",
			Name: text})
		_, bad["effect "+text] = s.RecordEffects(ctx, "r", op.Revision,
			ops.Effect{Key: text, Digest: "d", Endpoint: "e"})
		_, _, bad["nonce "+text] = s.Accept(ctx, ops.Receipt{Nonce: text, Operation: "r"})
		_, bad["get "+text] = s.Get(text)
	}
	_, _, bad["data"] = s.Begin(ctx, ops.Request{ID: "n", Environment: "n", Data: func() {}})
	for _, raw := range []string{`{`, `{"a":1} x`, `nul`, "\"\xff\"", ` `} {
		_, _, bad["json "+raw] = s.Begin(ctx, ops.Request{ID: "n", Environment: "n",
			Data: json.RawMessage(raw)})
		_, bad["change "+raw] = s.CompareAndSwap(ctx, "r", op.Revision,
			ops.Change{Data: json.RawMessage(raw)})
		_, bad["own "+raw] = s.RecordOwned(ctx, "r", op.Revision,
			ops.Resource{Kind: "k", Name: "n", Data: json.RawMessage(raw)})
		_, _, bad["outcome "+raw] = s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r",
			Outcome: json.RawMessage(raw)})
	}
	_, _, bad["effect that is not recorded"] = s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r",
		Effect: "pay"})
	for what, err := range bad {
		if err := refused(what, err, ops.ErrInvalid, 0); err != nil {
			return err
		}
	}
	return errors.Join(s.is(op), s.lists([]string{"r"}, nil, []string{"r"}))
}

// cancelled: a context that has ended stops a change before it is made.
func cancelled(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	why := errors.New("enough")
	over, cancel := context.WithCancelCause(ctx)
	cancel(why)
	var errs []error
	_, _, err = s.Begin(over, ops.Request{ID: "n", Environment: "n"})
	errs = append(errs, err)
	_, err = s.CompareAndSwap(over, "r", op.Revision, ops.Change{Phase: "applying"})
	errs = append(errs, err)
	_, err = s.RecordOwned(over, "r", op.Revision, ops.Resource{Kind: "k", Name: "n"})
	errs = append(errs, err)
	for _, err := range errs {
		if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("after the end of the context: %v", err)
		}
	}
	return errors.Join(s.is(op), s.lists([]string{"r"}, nil, []string{"r"}))
}

func reopen(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	if op, err = s.RecordOwned(ctx, "r", op.Revision, ops.Resource{Kind: "k",
		Name: "n"}); err != nil {
		return err
	}
	if op, _, err = s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r",
		LogTail: "…"}); err != nil {
		return err
	}
	if _, err := s.done("d", "other"); err != nil {
		return err
	}
	again, err := s.opts.Reopen(s.Store)
	if err != nil {
		return fmt.Errorf("Reopen: %w", err)
	}
	other := &store{again, s.opts}
	if err := errors.Join(other.is(op), other.lists([]string{"r", "d"}, nil,
		[]string{"r"})); err != nil {
		return err
	}
	if _, duplicate, err := other.Accept(ctx, ops.Receipt{Nonce: "n",
		Operation: "r"}); err != nil ||
		!duplicate {
		return fmt.Errorf("the receipt again: duplicate %v, %v", duplicate, err)
	}
	if op, err = other.finish(op); err != nil {
		return err
	}
	return s.is(op)
}
