package docs_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/probate-dev/probate/store/docs"
	"pgregory.net/rapid"
)

// The table of RFC 8785, appendix B: bits of a number, and how it is written. Negative zero is the
// one that we refuse instead.
var rfcNumbers = map[uint64]string{
	0x0000000000000000: "0",
	0x0000000000000001: "5e-324",
	0x8000000000000001: "-5e-324",
	0x7fefffffffffffff: "1.7976931348623157e+308",
	0xffefffffffffffff: "-1.7976931348623157e+308",
	0x4340000000000000: "9007199254740992",
	0xc340000000000000: "-9007199254740992",
	0x4430000000000000: "295147905179352830000",
	0x44b52d02c7e14af5: "9.999999999999997e+22",
	0x44b52d02c7e14af6: "1e+23",
	0x44b52d02c7e14af7: "1.0000000000000001e+23",
	0x444b1ae4d6e2ef4e: "999999999999999700000",
	0x444b1ae4d6e2ef4f: "999999999999999900000",
	0x444b1ae4d6e2ef50: "1e+21",
	0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
	0x3eb0c6f7a0b5ed8d: "0.000001",
	0x41b3de4355555553: "333333333.3333332",
	0x41b3de4355555554: "333333333.33333325",
	0x41b3de4355555555: "333333333.3333333",
	0x41b3de4355555556: "333333333.3333334",
	0x41b3de4355555557: "333333333.33333343",
	0xbecbf647612f3696: "-0.0000033333333333333333",
	0x43143ff3c1cb0959: "1424953923781206.2",
}

func TestNumbersOfRFC8785(t *testing.T) {
	for bits, want := range rfcNumbers {
		f := math.Float64frombits(bits)
		for _, format := range []byte{'e', 'g'} {
			in := strconv.FormatFloat(f, format, -1, 64)
			if got, err := docs.Canonical([]byte(in)); err != nil || string(got) != want {
				t.Errorf("%s: %s, %v; want %s", in, got, err, want)
			}
		}
	}
}

// Numbers that mean the same are the same; numbers that would become others are refused.
func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "1.0": "1", "1.000e0": "1", "10e-1": "1", "0.01E2": "1", "-1": "-1", "100": "100",
		"1e2": "100", "0.0": "0", "0e99999999999999999999": "0", "1e-7": "1e-7", "0.00000010": "1e-7",
		"9007199254740993": "", "9007199254740992.5": "", "-0": "", "-0.00": "", "-0e1": "", "1e309": "",
		"1e-324": "", "2e-324": "", "4.9e-324": "", "0.1": "0.1", "0.10000000000000001": "",
		"1e99999999999999999999": "", "1e-99999999999999999999": "", "18446744073709551615": "",
		"1152921504606846976": "", "1152921504606847000": "1152921504606847000",
	} {
		got, err := docs.Canonical([]byte(in))
		if want == "" && !errors.Is(err, docs.ErrValue) {
			t.Errorf("%s became %s", in, got)
		}
		if want != "" && string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

// What is canonical stays as it is, and means what was given.
func TestCanonicalMeansTheSame(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := rapid.OneOf(
			rapid.Just[any](nil),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.Float64(), func(f float64) any {
				if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
					return 0.0
				}
				return f
			}),
			rapid.Map(rapid.String(), func(s string) any { return s }))
		if depth == 0 {
			return leaves
		}
		return rapid.OneOf(leaves,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 4),
				func(v map[string]any) any { return v }))
	}
	rapid.Check(t, func(t *rapid.T) {
		in := value(3).Draw(t, "value")
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := docs.Canonical(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := docs.Canonical(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%s became %s, %v", canonical, again, err)
		}
		var was, is any
		if json.Unmarshal(text, &was) != nil || json.Unmarshal(canonical, &is) != nil ||
			!reflect.DeepEqual(was, is) {
			t.Fatalf("%s became %s", text, canonical)
		}
	})
}

// Nothing makes it panic, and what it lets through is a fixed point that encoding/json reads.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"", "-0", "1e21", `"\ud800"`, `{"a":1,"a":2}`, `{"b":[1,{}],"a":"é"}`,
		"9007199254740993", "\"\xff\"", "[[[[", `{"":{"":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		canonical, err := docs.Canonical(in)
		if err != nil {
			if !errors.Is(err, docs.ErrValue) {
				t.Errorf("%v", err)
			}
			return
		}
		if !json.Valid(in) || !json.Valid(canonical) {
			t.Errorf("%q became %q, and is not JSON", in, canonical)
		}
		again, err := docs.Canonical(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Errorf("%q became %q, %v", canonical, again, err)
		}
	})
}
