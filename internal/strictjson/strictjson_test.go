package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type target struct {
	PID   int `json:"pid"`
	Inner *struct {
		Name string `json:"name"`
	} `json:"inner"`
}

func TestUnmarshalAccepts(t *testing.T) {
	for _, in := range []string{
		`{"pid":7}`,
		" \r\n{ \"pid\" : 7 }\n\t",
		`{"pid":7,"unknown":{"pid":1,"a":[{"pid":3}]}}`,
		`{"pid":7,"inner":{"name":"x"}}`,
		`{"pid":7,"inner":null}`,
	} {
		var v target
		if err := Unmarshal([]byte(in), &v); err != nil || v.PID != 7 {
			t.Errorf("%s: %v, pid %d", in, err, v.PID)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		want error
	}{
		"null":             {"null", ErrNotObject},
		"array":            {"[]", ErrNotObject},
		"number":           {"1234\n", ErrNotObject},
		"empty":            {"", ErrNotObject},
		"byte order mark":  {"\xef\xbb\xbf{\"pid\":7}", ErrNotObject},
		"UTF-16":           {"{\x00\"\x00", nil},
		"two objects":      {`{"pid":7}{"pid":8}`, nil},
		"trailing text":    {`{"pid":7} x`, nil},
		"trailing comma":   {`{"pid":7,}`, nil},
		"duplicate":        {`{"pid":7,"pid":7}`, nil},
		"case duplicate":   {`{"pid":7,"PID":9}`, nil},
		"case variant":     {`{"PID":7}`, nil},
		"kelvin sign":      {`{"pid":7,"İnner":1,"inner":{"name":"x","NAME":"y"}}`, nil},
		"nested duplicate": {`{"pid":7,"inner":{"name":"x","name":"y"}}`, nil},
		"unknown twice":    {`{"pid":7,"x":{"a":1,"a":2}}`, nil},
		"NaN":              {`{"pid":NaN}`, nil},
		"fraction":         {`{"pid":1.5}`, nil},
		"exponent":         {`{"pid":1e3}`, nil},
		"string number":    {`{"pid":"7"}`, nil},
		"invalid UTF-8":    {"{\"pid\":7,\"x\":\"\xff\"}", nil},
		"cut short":        {`{"pid":7,"inner":{"na`, ErrCutShort},
		"only a brace":     {`{`, ErrCutShort},
		"deep":             {strings.Repeat(`{"a":`, 100_000), nil},
		"deep array":       {`{"a":` + strings.Repeat(`[`, 100_000), nil},
	}
	for name, tt := range tests {
		var v target
		err := Unmarshal([]byte(tt.in), &v)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"pid":7`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	var v target
	if err := Unmarshal([]byte(b.String()+"}"), &v); err != nil {
		t.Error(err)
	}
	for _, again := range []string{"K7", "k4999", "PID"} {
		if err := Unmarshal([]byte(b.String()+`,"`+again+`":1}`), &v); err == nil {
			t.Errorf("%s twice: accepted", again)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"pid":7,"inner":{"name":"x"}}`))
	f.Add([]byte(`{"a":[1,-0.5e+3,true,null,"\u00e9\n"],"b":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v target
		err := Unmarshal(data, &v) // must not panic
		if err == nil && !json.Valid(data) {
			t.Errorf("accepted: %q", data)
		}
		s := scanner{data: data}
		scanned := s.value(nil, 0)
		s.space()
		switch whole := s.at == len(data); {
		case scanned == nil && whole && !json.Valid(data):
			t.Errorf("not JSON: %q", data)
		case scanned == errShort && json.Valid(data):
			t.Errorf("not short: %q", data)
		}
	})
}
