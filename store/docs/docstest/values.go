package docstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/probate-dev/probate/store/docs"
)

// exact are values, and what they come back as. The numbers are those of RFC 8785, appendix B, and
// their neighbours.
var exact = map[string]string{
	"null": "null", "true": "true", `""`: `""`, "[]": "[]", "{}": "{}", "0": "0",
	"9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
	"9007199254740994": "9007199254740994", "1e21": "1e+21", "1E+20": "100000000000000000000",
	"0.000001": "0.000001", "1e-7": "1e-7", "1.0": "1", "0.1": "0.1",
	"1.7976931348623157e308": "1.7976931348623157e+308", "5e-324": "5e-324",
	"333333333.3333333": "333333333.3333333", "295147905179352830000": "295147905179352830000",
	"999999999999999900000": "999999999999999900000", "1e+23": "1e+23", "-1e-6": "-0.000001",
	"-0.0000033333333333333333": "-0.0000033333333333333333",
	"1424953923781206.2":        "1424953923781206.2",
	"9.999999999999997e22":      "9.999999999999997e+22", "9007199254740992": "9007199254740992",
	`{"b":1,"a":{"d":[1,{"f":null,"e":2}]}}`:     `{"a":{"d":[1,{"e":2,"f":null}]},"b":1}`,
	`{"__proto__":{"x":1},"constructor":2,"":3}`: `{"":3,"__proto__":{"x":1},"constructor":2}`,
	`{"\u20ac":1,"\r":2,"1":3,"\ud83d\ude02":4,"\ufb33":5,"ö":6}`://
	"{\"\\r\":2,\"1\":3,\"ö\":6,\"€\":1,\"😂\":4,\"\ufb33\":5}",
	`"\u0000\u001f\u007f\"\\\/<>&\u2028é"`: "\"\\u0000\\u001f\u007f\\\"\\\\/<>&\u2028é\"",
}

func values(s docs.Store, _ Options) error {
	var version docs.Version
	for in, want := range exact {
		v, err := put(s, "a", version, in)
		if err != nil {
			return err
		}
		version = v
		if err := holds(s, "a", v, want); err != nil {
			return err
		}
		if v, err = put(s, "a", v, want); err != nil { // and what came back can be written
			return err
		}
		if err := holds(s, "a", v, want); err != nil {
			return err
		}
		version = v
	}
	long := `"` + strings.Repeat("0123456789abcdef", 1<<14) + `"`
	for _, value := range []string{long, nested(500), nested(9999)} {
		v, err := put(s, "a", version, value)
		if err != nil {
			return err
		}
		if err := holds(s, "a", v, value); err != nil {
			return err
		}
		version = v
	}
	return nil
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

// inexact cannot be kept as they are.
var inexact = []string{
	"",
	" ",
	"nul",
	"{",
	`{"a":1}x`,
	"1 2",
	"'a'",
	"[1,]",
	"01",
	"+1",
	"NaN",
	"\"\n\"",
	"9007199254740993",
	"-9007199254740993",
	`{"a":[9007199254740993]}`,
	"123456789012345678901234567890",
	"333333333.33333329",
	"0.1000000000000000055511151231257827",
	"1e400",
	"1e-400",
	"-0",
	"-0.0",
	"[-0e5]",
	`"\ud800"`,
	`"\udc00\ud800"`,
	`{"\udead":1}`,
	`{"a":1,"a":1}`,
	`{"a":1,"\u0061":2}`,
	"\"\xff\"",
	"\"\xed\xa0\x80\"",
	"\ufeff1",
	nested(10_000),
}

func refusedValues(s docs.Store, _ Options) error {
	if _, err := put(s, "a", docs.Absent, `"old"`); err != nil {
		return err
	}
	for _, value := range inexact {
		_, err := s.CompareAndSwap(always, "a", 1, json.RawMessage(value))
		if !errors.Is(err, docs.ErrValue) {
			return fmt.Errorf(
				"CompareAndSwap of %.80q returned %v, want %v",
				value,
				err,
				docs.ErrValue,
			)
		}
		if err := holds(s, "a", 1, `"old"`); err != nil {
			return fmt.Errorf("after %.80q was refused: %w", value, err)
		}
		_, err = s.CompareAndSwap(always, "b", docs.Absent, json.RawMessage(value))
		if !errors.Is(err, docs.ErrValue) {
			return fmt.Errorf("creating %.80q returned %v, want %v", value, err, docs.ErrValue)
		}
	}
	return absent(s, "b")
}

func copies(s docs.Store, _ Options) error {
	given := json.RawMessage(`"aaaa"`)
	if _, err := s.CompareAndSwap(always, "a", docs.Absent, given); err != nil {
		return err
	}
	copy(given, `"bbbb"`)
	d, err := s.Load(always, "a")
	if err != nil {
		return err
	}
	if string(d.Value) != `"aaaa"` {
		return errors.New("a value changed when the caller wrote over the slice that it had given")
	}
	copy(d.Value, `"cccc"`)
	if err := holds(s, "a", 1, `"aaaa"`); err != nil {
		return fmt.Errorf(
			"a value changed when the caller wrote over the slice that it got: %w",
			err,
		)
	}
	for d, err := range s.Watch(always, "a") {
		if err != nil {
			return err
		}
		copy(d.Value, `"dddd"`)
		break
	}
	return holds(s, "a", 1, `"aaaa"`)
}

var goodKeys = []string{"a", "0", "-", "_", ".a", "a.", "...", "a.doc.json", "a.doc.json.lock",
	"a.lock", "a.fence", "a.doc", "a.doc.deleted", "constructor", "__proto__", "toString",
	"hasOwnProperty", "settings.json", "-rf", "0123456789", strings.Repeat("k", 120)}

func keys(s docs.Store, _ Options) error {
	for i, key := range goodKeys {
		if err := absent(s, key); err != nil {
			return err
		}
		if _, err := put(s, key, docs.Absent, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	for i, key := range goodKeys {
		if err := holds(s, key, 1, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	if err := lists(s, slices.Sorted(slices.Values(goodKeys))...); err != nil {
		return err
	}
	for _, key := range goodKeys[1:] {
		if err := s.Delete(always, key, 1); err != nil {
			return fmt.Errorf("Delete(%q): %w", key, err)
		}
	}
	return errors.Join(lists(s, "a"), holds(s, "a", 1, "0"))
}

func refusedKeys(s docs.Store, _ Options) error {
	for _, key := range []string{"", ".", "..", "a/b", "/a", "../a", `a\b`, "a b", " a", "a\x00",
		"a\n", "ä", "a:b", "a*", "~a~", "%61", strings.Repeat("k", 121), "\xff"} {
		_, loaded := s.Load(always, key)
		_, swapped := s.CompareAndSwap(always, key, docs.Absent, json.RawMessage("1"))
		deleted := s.Delete(always, key, 1)
		var watched error
		for _, watched = range s.Watch(always, key) {
			break
		}
		for _, err := range []error{loaded, swapped, deleted, watched} {
			if !errors.Is(err, docs.ErrKey) {
				return fmt.Errorf("the key %q: %v, want %v", key, err, docs.ErrKey)
			}
		}
	}
	return lists(s)
}

func keysCase(s docs.Store, _ Options) error {
	if _, err := put(s, "Key", docs.Absent, `"upper"`); err != nil {
		return err
	}
	_, err := s.CompareAndSwap(always, "key", docs.Absent, json.RawMessage(`"lower"`))
	if err == nil {
		err = holds(s, "key", 1, `"lower"`)
	} else if errors.Is(err, docs.ErrKey) {
		err = nil
	}
	return errors.Join(err, holds(s, "Key", 1, `"upper"`))
}
