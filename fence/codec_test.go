package fence

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var decodable = map[string]Token{
	"00000000000000000000\n": 0,
	"00000000000000000003\n": 3,
	"00009007199254740991\n": Max,
	"0\n":                    0,
	"3\n":                    3,
	"9007199254740991\n":     Max,
}

var garbage = map[string]string{
	"empty":                "",
	"only a newline":       "\n",
	"torn plain":           "3",
	"torn wide":            "0000000000000000000",
	"no newline":           "00000000000000000003",
	"two lines":            "3\n3\n",
	"wide and more":        "00000000000000000003\n\n",
	"leading zero":         "03\n",
	"19 digits":            "0000000000000000003\n",
	"21 digits":            "000000000000000000003\n",
	"too large":            "9007199254740992\n",
	"too large, wide":      "00009007199254740992\n",
	"2^64":                 "18446744073709551616\n",
	"99999999999999999999": "99999999999999999999\n",
	"negative":             "-3\n",
	"plus":                 "+3\n",
	"blank before":         " 3\n",
	"blank after":          "3 \n",
	"CRLF":                 "3\r\n",
	"fraction":             "3.0\n",
	"exponent":             "3e2\n",
	"hex":                  "0x3\n",
	"underscore":           "1_000\n",
	"words":                "three\n",
	"BOM":                  "\ufeff3\n",
	"other digits":         "٣\n",
	"JSON":                 `{"fence":3}` + "\n",
	"NUL":                  strings.Repeat("\x00", 21),
	"NUL in it":            "0000000000000000000\x00\n",
	"NUL after":            "3\n\x00\x00",
	"long":                 strings.Repeat("7", readSize),
	"very long":            strings.Repeat("1", 5000) + "\n",
}

func TestDecode(t *testing.T) {
	for in, want := range decodable {
		if got, err := decode([]byte(in)); err != nil || got != want {
			t.Errorf("decode(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for name, in := range garbage {
		if got, err := decode([]byte(in)); err == nil {
			t.Errorf("%s: decode(%q) = %d", name, in, got)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	for _, n := range []Token{0, 1, 9, 10, 1 << 32, Max} {
		b := encode(n)
		if got, err := decode(b); err != nil || got != n || len(b) != width {
			t.Errorf("%d is written %q and read %d, %v", n, b, got, err)
		}
	}
}

// Every beginning of a counter is damaged: a torn write is never a smaller number.
func TestTornIsDamaged(t *testing.T) {
	for in := range decodable {
		for n := range len(in) {
			if got, err := decode([]byte(in[:n])); err == nil {
				t.Errorf("decode(%q) = %d, the beginning of %q", in[:n], got, in)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for in := range decodable {
		f.Add([]byte(in))
	}
	for _, in := range garbage {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := decode(b)
		if err != nil {
			if n != 0 {
				t.Fatalf("decode(%q) = %d with an error", b, n)
			}
			return
		}
		// What is accepted is one of the two forms of that number, to the byte.
		if n > Max || !bytes.Equal(b, encode(n)) && string(b) != n.String()+"\n" {
			t.Fatalf("decode(%q) = %d", b, n)
		}
	})
}

func TestTokenInJSON(t *testing.T) {
	b, err := json.Marshal(struct{ Fence Token }{Max})
	if err != nil || string(b) != `{"Fence":9007199254740991}` {
		t.Fatalf("%s, %v", b, err)
	}
	var back struct{ Fence Token }
	if err := json.Unmarshal(b, &back); err != nil || back.Fence != Max {
		t.Fatalf("%d, %v", back.Fence, err)
	}
}
