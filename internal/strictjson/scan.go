package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// scanner goes through a JSON text once, and checks its grammar and the keys of its objects. It
// makes nothing of it: that is left to encoding/json, which is not asked about texts that are not
// strict.
type scanner struct {
	data []byte
	at   int
}

// errShort is returned where the text ends although it is in order so far.
var errShort = errors.New("the text ends too early")

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next character after white space.
func (s *scanner) peek() (byte, error) {
	s.space()
	if s.at == len(s.data) {
		return 0, errShort
	}
	return s.data[s.at], nil
}

func (s *scanner) unexpected(where string) error {
	return fmt.Errorf("invalid character %q %s, at byte %d", s.data[s.at], where, s.at)
}

// value goes through one value. known are the keys of the struct that it will be decoded into, nil
// where nobody wants it.
func (s *scanner) value(known *keys, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch {
	case c == '{':
		return s.object(known, depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		_, err := s.text()
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	return s.unexpected("looking for a value")
}

func (s *scanner) object(known *keys, depth int) error {
	s.at++
	var seen keySet
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == '}' && first {
			s.at++
			return nil
		}
		if c != '"' {
			return s.unexpected("looking for a key")
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if seen.has(key) {
			return fmt.Errorf("key %q twice (whatever its case)", key)
		}
		inner, err := known.find(key)
		if err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		if c != ':' {
			return s.unexpected("after a key")
		}
		s.at++
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		s.at++
		if c == '}' {
			return nil
		}
		if c != ',' {
			s.at--
			return s.unexpected("after a member of an object")
		}
	}
}

// keySet are the keys of one object so far, whatever their case.
type keySet struct {
	few  [24]string
	n    int
	many map[string]bool
}

// has reports whether the key was there, and adds it.
func (k *keySet) has(key string) bool {
	for _, other := range k.few[:k.n] {
		if strings.EqualFold(other, key) {
			return true
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return false
	}
	folded := strings.ToLower(key)
	if k.many[folded] {
		return true
	}
	if k.many == nil {
		k.many = map[string]bool{}
	}
	k.many[folded] = true
	return false
}

func (s *scanner) array(depth int) error {
	s.at++
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == ']' && first {
			s.at++
			return nil
		}
		if err := s.value(nil, depth+1); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		s.at++
		if c == ']' {
			return nil
		}
		if c != ',' {
			s.at--
			return s.unexpected("after an element of an array")
		}
	}
}

// text goes through a string and returns what it stands for.
func (s *scanner) text() (string, error) {
	from, escaped := s.at, false
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			if !escaped {
				return string(s.data[from+1 : s.at-1]), nil
			}
			var v string
			err := json.Unmarshal(s.data[from:s.at], &v)
			return v, err
		case c < ' ':
			return "", s.unexpected("in a string")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return "", err
			}
		}
	}
	return "", errShort
}

// escape goes through an escape sequence but for its last character.
func (s *scanner) escape() error {
	if s.at++; s.at == len(s.data) {
		s.at--
		return errShort
	}
	switch s.data[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return s.unexpected("in an escape sequence")
	}
	for range 4 {
		if s.at++; s.at == len(s.data) {
			return errShort
		}
		c := s.data[s.at] | 0x20
		if digit := s.data[s.at]; (digit < '0' || digit > '9') && (c < 'a' || c > 'f') {
			return s.unexpected("in an escape sequence")
		}
	}
	return nil
}

func (s *scanner) literal(word string) error {
	for i := range len(word) {
		if s.at == len(s.data) {
			return errShort
		}
		if s.data[s.at] != word[i] {
			return s.unexpected("in the literal " + word)
		}
		s.at++
	}
	return nil
}

func (s *scanner) number() error {
	if s.data[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.data) && s.data[s.at] == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at < len(s.data) && s.data[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return nil
}

// digits goes through at least one.
func (s *scanner) digits() error {
	from := s.at
	for s.at < len(s.data) && '0' <= s.data[s.at] && s.data[s.at] <= '9' {
		s.at++
	}
	switch {
	case s.at > from:
		return nil
	case s.at == len(s.data):
		return errShort
	}
	return s.unexpected("in a number")
}

// keys are the JSON names of the fields of a struct, with those of the structs in them.
type keys struct {
	names []string
	inner []*keys
}

// find returns the keys of the object that stands under a key. A key that only differs in case from
// a known one is an error.
func (k *keys) find(key string) (*keys, error) {
	if k == nil {
		return nil, nil
	}
	for i, name := range k.names {
		if name == key {
			return k.inner[i], nil
		}
	}
	for _, name := range k.names {
		if strings.EqualFold(name, key) {
			return nil, fmt.Errorf("key %q instead of %q", key, name)
		}
	}
	return nil, nil
}

var keysOfType sync.Map // reflect.Type → *keys

// keysOf returns the keys of a struct, nil for any other type.
func keysOf(t reflect.Type) *keys {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if k, ok := keysOfType.Load(t); ok {
		return k.(*keys)
	}
	k := &keys{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			k.names = append(k.names, name)
			k.inner = append(k.inner, keysOf(f.Type))
		}
	}
	keysOfType.Store(t, k)
	return k
}
