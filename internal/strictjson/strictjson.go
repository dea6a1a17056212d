// Package strictjson decodes one JSON object without the leniencies of encoding/json: duplicate
// keys, keys in another case, trailing data, invalid UTF-8 and unbounded nesting are errors.
// Unknown keys are allowed: they belong to newer or other writers.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
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
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := walk(dec, reflect.TypeOf(v).Elem(), 0); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrCutShort
		}
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("data after the JSON object")
	}
	return json.Unmarshal(data, v)
}

// walk reads one value and checks the keys of every object in it. t is the type that it will be
// decoded into, nil where nobody wants it.
func walk(dec *json.Decoder, t reflect.Type, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	switch delim {
	case '{':
		if err := walkObject(dec, fieldsOf(t), depth); err != nil {
			return err
		}
	case '[':
		for dec.More() {
			if err := walk(dec, nil, depth+1); err != nil {
				return err
			}
		}
	}
	_, err = dec.Token() // the closing bracket
	return err
}

func walkObject(dec *json.Decoder, known map[string]reflect.Type, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key := tok.(string) // encoding/json has checked that keys are strings
		folded := strings.ToLower(key)
		if seen[folded] {
			return fmt.Errorf("key %q twice", key)
		}
		seen[folded] = true
		if _, exact := known[key]; !exact {
			for name := range known {
				if strings.EqualFold(name, key) {
					return fmt.Errorf("key %q instead of %q", key, name)
				}
			}
		}
		if err := walk(dec, known[key], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the JSON names of a struct's fields with their types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
