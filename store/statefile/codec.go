package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"
)

// Codec turns values into the bytes of the file and back. What Encode returns must be readable by
// Decode: an update that breaks this is refused. The better Decode notices a file that is cut short
// or damaged, the surer ErrCorrupt is.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

// JSON is the codec of Open: one JSON value in UTF-8 and a line end.
type JSON[T any] struct {
	// Indent is used for each level, for files that people edit. "" writes one line.
	Indent string
	// Strict refuses files with fields that T does not have, which an update would drop.
	Strict bool
}

// Encode implements Codec.
func (c JSON[T]) Encode(value T) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", c.Indent)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode implements Codec.
func (c JSON[T]) Decode(data []byte) (T, error) {
	var value T
	if err := text(data); err != nil {
		return value, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if c.Strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&value); err != nil {
		var none T
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return none, fmt.Errorf("the file is cut short: %w", err)
		}
		return none, located(data, err)
	}
	if _, err := d.Token(); err != io.EOF {
		var none T
		return none, fmt.Errorf("something follows the value, after %d bytes", d.InputOffset())
	}
	return value, nil
}

// text refuses what encoding/json would change without a word, or explain badly.
func text(data []byte) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return errors.New("the file begins with a byte order mark: save it as UTF-8 without one")
	}
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Errorf("line %d: byte %#x is not UTF-8", lineOf(data, at), data[at])
		}
		at += n
	}
	return nil
}

// lineOf returns in which line the byte at that offset is.
func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// misplaced says in JSON's words, and not in Go's, that a value does not fit.
type misplaced struct{ *json.UnmarshalTypeError }

func (m misplaced) Error() string {
	name := m.Field
	if name == "" {
		name = "the value"
	}
	return fmt.Sprintf("%s is to be %s, and is %s", name, wanted(m.Type), m.Value)
}

func (m misplaced) Unwrap() error { return m.UnmarshalTypeError }

// wanted says which JSON a Go type is written as.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number that fits into %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 on that fits into %d bits", t.Bits())
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number that fits into %d bits", t.Bits())
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a " + t.String()
}

// located adds the line, for people who have edited the file, where the error says at which byte.
func located(data []byte, err error) error {
	var after int64
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		after = e.Offset - 1 // of the byte at which it could not go on
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		after, err = e.Offset, misplaced{e}
	}
	if after < 1 || after > int64(len(data)) {
		return err
	}
	return fmt.Errorf("line %d: %w", lineOf(data, int(after)), err)
}
