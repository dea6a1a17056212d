// Package strictjson decodes one JSON object without the leniencies of encoding/json: duplicate
// keys, keys in another case, trailing data, invalid UTF-8 and unbounded nesting are errors.
// Unknown keys are allowed: they belong to newer or other writers.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// ErrNotObject is returned for text that is not a JSON object from its first character on.
var ErrNotObject = errors.New("not a JSON object")

// ErrCutShort is returned when the text ends before the object does.
var ErrCutShort = errors.New("ends in the middle of a JSON object")

const maxDepth = 16

// Unmarshal decodes the one object in data into the struct that v points to. White space around it
// is not data.
func Unmarshal(data []byte, v any) error {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return fmt.Errorf("%w: it begins with a byte order mark", ErrNotObject)
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return ErrNotObject
	}
	if !utf8.Valid(data) {
		return errors.New("not valid UTF-8")
	}
	s := scanner{data: data}
	if err := s.value(keysOf(reflect.TypeOf(v)), 0); err == errShort {
		return ErrCutShort
	} else if err != nil {
		return err
	}
	if s.space(); s.at < len(data) {
		return errors.New("data after the JSON object")
	}
	return json.Unmarshal(data, v)
}
