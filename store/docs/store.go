package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// Version counts the writes of a document. Each write is one more than the one before; deleting a
// document counts as a write.
type Version uint64

const (
	// Absent is the version of a document that does not exist: expected by who creates it.
	Absent Version = 0
	// MaxVersion is the largest version, 2^53 - 1, which every JSON reader has exactly.
	MaxVersion Version = 1<<53 - 1
)

// Document is one version of a document.
type Document struct {
	Key     string
	Version Version
	Value   json.RawMessage // in canonical form; the caller's own copy
}

// Store keeps documents. Its methods are safe for concurrent use. All but Watch return errors of
// type *Error (a *ConflictError inside, for conflicts), or the like from other implementations.
type Store interface {
	// Load returns the newest version. A document that does not exist is ErrMissing.
	Load(ctx context.Context, key string) (Document, error)

	// CompareAndSwap replaces a document whose version is expected, or creates one, with Absent. It
	// returns the new version. A *ConflictError says which version is there instead; nothing was
	// changed then, nor after any other error but ErrUnsure. After MaxVersion there is no version:
	// ErrLastVersion.
	CompareAndSwap(ctx context.Context, key string, expected Version,
		value json.RawMessage) (Version, error)

	// Delete removes a document whose version is expected. Otherwise it is a *ConflictError, or
	// ErrMissing where both are Absent.
	Delete(ctx context.Context, key string, expected Version) error

	// List returns the keys of all documents, sorted. A document that is there all the time is in
	// the list, whatever is written meanwhile; a damaged one is too.
	List(ctx context.Context) ([]string, error)

	// Watch yields the document now, and again after every change, until ctx ends or the loop is
	// left. Changes that come faster than the loop takes them are told as one; the last one is
	// never missed. What Load would return as an error is yielded as that, once, with only Key set:
	// a document that is missing or was deleted is ErrMissing. Nothing runs beyond the loop.
	Watch(ctx context.Context, key string) iter.Seq2[Document, error]
}

const maxKey = 120

// CheckKey returns an error that matches ErrKey unless key can name a document: 1 to 120 of the
// characters A-Z a-z 0-9 . _ -, and neither "." nor "..".
func CheckKey(key string) error {
	if key == "" || key == "." || key == ".." {
		return fmt.Errorf("%w: %q", ErrKey, key)
	}
	if len(key) > maxKey {
		return fmt.Errorf(
			"%w: it has %d characters, at most %d are allowed",
			ErrKey,
			len(key),
			maxKey,
		)
	}
	for _, r := range key {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9',
			r == '.', r == '_', r == '-':
		default:
			return fmt.Errorf("%w: %q has the character %q", ErrKey, key, r)
		}
	}
	return nil
}

// Update changes a document by what change makes of its newest version, and tries again for as long
// as others are faster, until ctx ends. old has the version Absent, and no value, where there is no
// document. An error of change is returned as it is, and changes nothing.
func Update(ctx context.Context, s Store, key string,
	change func(old Document) (json.RawMessage, error)) (Document, error) {
	for {
		old, err := s.Load(ctx, key)
		if errors.Is(err, ErrMissing) {
			old, err = Document{Key: key}, nil
		}
		if err != nil {
			return Document{}, err
		}
		value, err := change(old)
		if err != nil {
			return Document{}, err
		}
		version, err := s.CompareAndSwap(ctx, key, old.Version, value)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return Document{}, err
		}
		value, err = Canonical(value)
		return Document{Key: key, Version: version, Value: value}, err
	}
}
