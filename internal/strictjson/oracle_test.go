package strictjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// oracle says by other means, with encoding/json reading one token after the other, whether data is
// one object that Unmarshal must accept for a target. deep says that it is nested too deeply to
// tell.
func oracle(data []byte) (strict, deep bool) {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if !json.Valid(data) || !utf8.Valid(data) || len(trimmed) == 0 || trimmed[0] != '{' {
		return false, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	strict, depth := object(d, []string{"pid", "inner"})
	var v target
	return strict && json.Unmarshal(data, &v) == nil, depth >= maxDepth
}

// object reads a value, which must not name anything twice, whatever the case, nor known names in
// another case. names are those of a target, nil where it has no object.
func object(d *json.Decoder, names []string) (strict bool, depth int) {
	t, err := d.Token()
	if err != nil {
		return false, 0
	}
	open, nested := t.(json.Delim)
	if !nested {
		return true, 0
	}
	strict = true
	var seen []string
	for d.More() {
		var below []string
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return false, 0
			}
			name := key.(string)
			for _, other := range seen {
				strict = strict && !strings.EqualFold(name, other)
			}
			seen = append(seen, name)
			for _, known := range names {
				strict = strict && (name == known || !strings.EqualFold(name, known))
			}
			if name == "inner" && names != nil {
				below = []string{"name"}
			}
		}
		ok, n := object(d, below)
		strict, depth = strict && ok, max(depth, n)
	}
	_, err = d.Token()
	return strict && err == nil, depth + 1
}

// What is accepted is what encoding/json reads too, without any of its leniencies, and nothing else
// is refused.
func FuzzStrictness(f *testing.F) {
	for _, s := range []string{
		`{"pid":7,"inner":{"name":"x"}}`, `{"pid":7,"pid":7}`, `{"pid":7,"PID":8}`,
		`{"x":{"a":1,"a":2}}`, `{"pid":1,"p\u0069d":2}`, `{"inner":{"name":"a","Name":"b"}}`,
		`{"x":[{"pid":1,"PID":2}]}`, `{"pid":7} x`, `{"pid":"7"}`, `{"\ud800":1,"\ufffd":2}`,
		`{"ſ":1,"inner":{"naME":"x"}}`, "\ufeff{}", `{"pid":1e0}`, `{"Inner":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v target
		err := Unmarshal(data, &v)
		strict, deep := oracle(data)
		if (err == nil) != strict && !(deep && err != nil) {
			t.Errorf("%q: %v; by other means it is strict: %v", data, err, strict)
		}
	})
}
