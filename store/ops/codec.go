package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A file of the store is two lines: an object with a version, a kind and a body, and an object with
// the SHA-256 of the first line, its line end included. So a file is whole, or it is not.

const formatVersion = 1

const (
	kindOperation = "operation"
	kindRequest   = "request"
	kindNonce     = "nonce"
)

// stored is an operation as it stands on disk.
type stored struct {
	Operation
	// Next is the follow-up, complete, as it will be at its first revision. While this operation
	// stands in its environment's file, that one has begun and has no file of its own yet.
	Next *Operation `json:"next,omitempty"`
}

// request binds a request id to what was asked for under it.
type request struct {
	ID          string `json:"id"`
	Environment string `json:"environment"`
	Digest      string `json:"digest"`
}

// nonce binds a nonce to the receipt that used it.
type nonce struct {
	Nonce     string `json:"nonce"`
	Operation string `json:"operation"`
	Receipt   string `json:"receipt"` // its identity
}

type envelope[T any] struct {
	V    int    `json:"v"`
	Kind string `json:"kind"`
	Body T      `json:"body"`
}

const (
	sumHead = `{"sha256":"`
	sumTail = `"}` + "\n"
)

func encodeFile[T any](kind string, body T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(envelope[T]{formatVersion, kind, body}); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	b.WriteString(sumHead + hex.EncodeToString(sum[:]) + sumTail)
	if b.Len() > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, b.Len(), MaxBytes)
	}
	return b.Bytes(), nil
}

// decodeFile reads what encodeFile wrote. Errors match ErrDamaged, ErrForeign or ErrNewer.
func decodeFile[T any](kind string, data []byte) (T, error) {
	var e envelope[T]
	damaged := func(what string) (T, error) {
		return e.Body, fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	switch {
	case len(data) == 0:
		return damaged("it is empty")
	case len(bytes.Trim(data, "\x00")) == 0:
		return damaged("it has only NUL bytes")
	case isNewer(data):
		return e.Body, fmt.Errorf("%w: it has another version than %d", ErrNewer, formatVersion)
	}
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 || !bytes.HasSuffix(data[end:], []byte(sumTail)) {
		return damaged("it is cut short")
	}
	sum := sha256.Sum256(data[:end])
	if string(data[end:]) != sumHead+hex.EncodeToString(sum[:])+sumTail {
		return damaged("its checksum does not fit")
	}
	dec := json.NewDecoder(bytes.NewReader(data[:end]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e.Body, fmt.Errorf("%w: %w", ErrNewer,
			err) // it is whole, and says more than we know
	}
	if e.Kind != kind {
		return e.Body, fmt.Errorf("%w: it is a %.40q, not a %q", ErrForeign, e.Kind, kind)
	}
	return e.Body, nil
}

// isNewer looks at the version before anything else, so that a later format is never taken for a
// damaged file.
func isNewer(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"v":`))
	if !ok {
		return false
	}
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	return n > 0 && n < len(rest) && string(rest[:n]) != fmt.Sprint(formatVersion)
}

func decodeOperation(data []byte) (*stored, error) {
	s, err := decodeFile[stored](kindOperation, data)
	if err != nil {
		return nil, err
	}
	if s.ID == "" || s.Environment == "" || s.Digest == "" || s.Phase == "" || s.Revision == 0 ||
		s.Archived || s.Restored != "" {
		return nil, fmt.Errorf("%w: it names no operation", ErrForeign)
	}
	return &s, nil
}

// toJSON returns v as JSON in one line, nil for nil.
func toJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace(b.Bytes())
	return raw, unambiguous(raw)
}

// Digest returns the SHA-256 of v's JSON, as 64 hexadecimal digits. White space and the order of
// the keys of an object do not matter; numbers are taken as they are written. JSON that readers
// take in different ways has none (ErrInvalid): a key twice in an object, text that is not Unicode.
func Digest(v any) (string, error) {
	raw, err := toJSON(v)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var tree any
	if raw != nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&tree); err != nil && err != io.EOF {
			return "", fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	sorted, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	sum := sha256.Sum256(sorted)
	return hex.EncodeToString(sum[:]), nil
}

func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%w: the %s is empty", ErrInvalid, what)
	case len(text) > MaxID:
		return fmt.Errorf("%w: the %s has %d bytes, at most %d", ErrInvalid, what, len(text), MaxID)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: the %s is not UTF-8: %q", ErrInvalid, what, strings.ToValidUTF8(text,
			"?"))
	}
	return nil
}
