package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Accept adds a receipt to its operation and spends its nonce. The same receipt again, whatever its
// log tail, changes nothing and is reported as a duplicate, for a finished operation too.
//
// ErrNonceSpent says that another receipt has used the nonce; ErrFinished that the operation was
// over before the receipt came; ErrNotFound that there is no such operation; ErrInvalid that the
// receipt answers an effect that is not recorded. Then nothing was changed.
func (f *Folder) Accept(ctx context.Context, r Receipt) (op Operation, duplicate bool, err error) {
	const name = "accept"
	who, err := "", error(nil)
	if r, err = r.check(); err == nil {
		who, err = r.Identity()
	}
	if err != nil {
		return op, false, &Error{Op: name, Path: f.dir, Step: "check the receipt", ID: r.Operation,
			Next: advice(err), Err: err}
	}
	err = f.locked(ctx, name, func(w *writer) error {
		op, duplicate, err = w.accept(r, who)
		return err
	})
	return op, duplicate, err
}

func (w *writer) accept(r Receipt, who string) (Operation, bool, error) {
	file := nonceFile(r.Nonce)
	spent, err := w.nonce(r.Nonce)
	if err != nil {
		return Operation{}, false, err
	}
	if spent != nil && (spent.Operation != r.Operation || spent.Receipt != who) {
		return Operation{}, false, w.failed("look at the nonce", file, r.Operation, fmt.Errorf(
			"%w, for operation %q", ErrNonceSpent, spent.Operation))
	}
	at, err := w.get(r.Operation)
	if err != nil {
		return Operation{}, false, err
	}
	if old, ok := at.op.receipt(r.Nonce); ok {
		id, err := old.Identity()
		if err == nil && id != who {
			err = ErrNonceSpent
		}
		if err != nil {
			return Operation{}, false, w.refused("compare with the receipt", at, "", err)
		}
		return at.operation(), true, nil
	}
	if at, err = w.unfinished(at, nil); err != nil {
		return Operation{}, false, err
	}
	me, err := w.stamp()
	if err != nil {
		return Operation{}, false, err
	}
	op, err := accept(at.operation(), r, me)
	if err != nil {
		return Operation{}, false, w.refused("compare with its effects", at, "", err)
	}
	var more []func() error
	if spent == nil { // else a crash came between the nonce and the operation
		place, err := bind(w, kindNonce, dirNonces, file, r.Operation,
			nonce{Nonce: r.Nonce, Operation: r.Operation, Receipt: who})
		if err != nil {
			return Operation{}, false, err
		}
		more = append(more, place)
	}
	return op, false, w.write(at, op, nil, more...)
}

// nonce reads what a nonce was used for; nil: for nothing.
func (v *view) nonce(text string) (*nonce, error) {
	name := nonceFile(text)
	data, err := v.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var n nonce
	if err == nil {
		n, err = decodeFile[nonce](kindNonce, data)
	}
	if err == nil && n.Nonce != text {
		err = fmt.Errorf("%w: it is about %q", ErrForeign, n.Nonce)
	}
	if err != nil {
		return nil, v.failed("read what the nonce was used for", name, "", err)
	}
	return &n, nil
}
