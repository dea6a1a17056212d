package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Whatever the text, its file name is short, plain, and nobody else's: not even on a filesystem
// that folds case or Unicode forms, drops dots and blanks at the end, or has names of devices.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"a", "A", "ä", "a\u0308", "Ä", "", " ", "a ", "a.", ".", "..", "../..",
		"/etc/passwd", `C:\x`, "con", "CON", "nul.json", "com1", "a\x00", "a\x00b", "\x00", "ß", "ss",
		"K", "\u212a", "ı", "i", "I", "İ", strings.Repeat("a", 4096), strings.Repeat("a", 4095),
		strings.Repeat("💥", 1000), "tmp", "requests", "ops", "ops.lock", "x.op.json", "-", "--", "~1",
		"constructor", "__proto__"} {
		name := slotFile(text)
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%.40q and %.40q are both %s", text, other, name)
		}
		seen[strings.ToLower(name)] = text
		s, ok := stem(name, suffix)
		if !ok || len(name) > 120 || path.Base(name) != name || strings.ContainsAny(s, "./\\:*?\" \x00") {
			t.Errorf("%.40q is %q", text, name)
		}
		if before(name) == name || !strings.HasPrefix(before(name), s) {
			t.Errorf("before %s is %s", name, before(name))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if (encode(a) == encode(b)) != (a == b) {
			t.Fatalf("%q, %q: %s, %s", a, b, encode(a), encode(b))
		}
		if name := encode(a); !encoded.MatchString(name) || name != strings.ToLower(name) {
			t.Fatalf("%q: %s", a, name)
		}
	})
}

func sample() stored {
	op := Operation{ID: "r\x00\u2028<", Environment: "e", Digest: "d", Phase: "planned", Revision: 7,
		Data: json.RawMessage(`{"n":12345678901234567890,"s":"<&>\u2028"}`), Follows: "q",
		Owned:    []Resource{{Kind: "k", Name: "n", Data: json.RawMessage(`[1.10]`)}},
		Effects:  []Effect{{Key: "k", Digest: "d", Endpoint: "e"}},
		Receipts: []Receipt{{Nonce: "n", Operation: "r", LogTail: "\n"}}}
	me, err := stampNow()
	if err != nil {
		panic(err)
	}
	op.Owner, op.Writer, op.CreatedAt, op.UpdatedAt = me, me, me.At, me.At
	return stored{Operation: op, Next: &op}
}

func TestCodec(t *testing.T) {
	data, err := encodeFile(kindOperation, sample())
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeOperation(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := encodeFile(kindOperation, *back)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("%v\n%s\nread and written:\n%s", err, data, again)
	}
	if bytes.Count(data, []byte("\n")) != 2 || !utf8.Valid(data) {
		t.Errorf("not two lines: %q", data)
	}
	for line := range bytes.Lines(data) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
	for n := range data { // cut anywhere, or changed anywhere
		if s, err := decodeOperation(data[:n]); err == nil || s != nil ||
			!errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		changed := bytes.Clone(data)
		changed[n] ^= 0x20
		if s, err := decodeOperation(changed); err == nil || s != nil {
			t.Fatalf("byte %d changed: %v", n, err)
		}
	}
	for _, kind := range []string{kindRequest, kindNonce, "other"} {
		if _, err := decodeFile[stored](kind, data); !errors.Is(err, ErrForeign) {
			t.Errorf("read as %s: %v", kind, err)
		}
	}
}

// whole makes a whole file of a first line.
func whole(line string) []byte {
	return fmt.Appendf(nil, "%s\n%s%x%s", line, sumHead, sha256.Sum256([]byte(line+"\n")), sumTail)
}

func TestCodecWhole(t *testing.T) {
	good, err := encodeFile(kindOperation, sample())
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(good), "\n")
	if _, err := decodeOperation(whole(first)); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"unknown key":      {strings.Replace(first, `"phase"`, `"fase":1,"phase"`, 1), ErrNewer},
		"unknown key atop": {strings.Replace(first, `"kind"`, `"sort":1,"kind"`, 1), ErrNewer},
		"other type":       {strings.Replace(first, `"revision":7`, `"revision":"7"`, 1), ErrNewer},
		"revision 0":       {strings.Replace(first, `"revision":7`, `"revision":0`, 1), ErrForeign},
		"no id":            {strings.Replace(first, `"id":`, `"follows":`, 1), ErrForeign},
		"nothing":          {`{"v":1,"kind":"operation","body":{}}`, ErrForeign},
		"null":             {`null`, ErrForeign},
	} {
		if s, err := decodeOperation(whole(c.line)); !errors.Is(err, c.want) || s != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	op := sample()
	op.Data = json.RawMessage(`"` + strings.Repeat("x", MaxBytes) + `"`)
	if _, err := encodeFile(kindOperation, op); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := encodeFile(kindOperation, sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":2,`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, whole(string(bytes.ReplaceAll(data, []byte("\n"), nil)))} {
			s, err := decodeOperation(data)
			if err == nil && (s.ID == "" || s.Revision == 0) {
				t.Errorf("%q is %+v", data, s)
			}
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) &&
				!errors.Is(err, ErrNewer) {
				t.Errorf("%q: %v", data, err)
			}
		}
	})
}

// Two values have one digest when they are the same JSON but for blanks and the order of keys.
func TestDigest(t *testing.T) {
	same := [][]any{
		{map[string]int{"a": 1, "b": 2}, json.RawMessage(`{"b":2,"a":1}`), json.RawMessage("{ \"a\" :1,\n\"b\":2}"),
			struct {
				B int `json:"b"`
				A int `json:"a"`
			}{2, 1}},
		{nil, json.RawMessage("null")},
		{json.RawMessage(`[1,2]`), []int{1, 2}},
		{json.RawMessage(`"\u0041"`), "A"},
		{json.RawMessage(`12345678901234567890123`)},
		{json.RawMessage(`12345678901234567890124`)},
		{json.RawMessage(`[2,1]`)},
		{json.RawMessage(`1.0`)}, {1},
		{json.RawMessage(`{"a":{"a":1},"b":[{"a":1},{"a":1}],"c":"a"}`)},
		{json.RawMessage(`"\ud83d\ude00\\ud800"`), "\U0001f600\\ud800"},
		{json.RawMessage(`"\ufffd"`), "\ufffd"},
	}
	seen := map[string]int{}
	for n, values := range same {
		for _, v := range values {
			d, err := Digest(v)
			if err != nil || len(d) != 64 {
				t.Errorf("%s: %s, %v", v, d, err)
			}
			if other, ok := seen[d]; ok && other != n {
				t.Errorf("%s has the digest of %s", v, same[other])
			} else if !ok && v == nil {
				seen[d] = n
			}
			seen[d] = n
		}
		if len(seen) != n+1 {
			t.Fatalf("%s have %d digests", values, len(seen)-n)
		}
	}
	bad := []any{func() {}, make(chan int)}
	for _, text := range []string{"{", `{"a":1,"a":2}`, `[{"b":{"a":1,"\u0061":1}}]`,
		`{"x":[],"x":[]}`, `"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\n"`, `{"\udfff":1}`,
		`"\\\ud800"`, "\"\xff\""} {
		bad = append(bad, json.RawMessage(text))
	}
	for _, v := range bad {
		if _, err := Digest(v); !errors.Is(err, ErrInvalid) {
			t.Errorf("%T %s: %v", v, v, err)
		}
	}
}
