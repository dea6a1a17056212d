package identity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
)

// untouched is what a failed decode must leave alone.
var untouched = identity.Identity{OS: "linux", PID: 1, Program: "untouched"}

func wantDecode(t *testing.T, in string, err, want error, got identity.Identity) {
	t.Helper()
	if len(in) > 120 {
		in = in[:120] + "…"
	}
	switch {
	case want == nil && err != nil:
		t.Errorf("%q: %v", in, err)
	case want != nil && !errors.Is(err, want):
		t.Errorf("%q: %v, want %v", in, err, want)
	case want != nil && got != untouched:
		t.Errorf("%q: refused, and changed to %+v", in, got)
	case errors.Is(err, identity.ErrNewer) && errors.Is(err, identity.ErrMalformed):
		t.Errorf("%q: %v is both", in, err)
	}
}

func TestStrictJSON(t *testing.T) {
	for in, want := range map[string]error{
		`{"v":1,"os":"linux","pid":7}`:                       nil,
		" {\r\n\"v\" : 1, \"os\": \"linux\", \"pid\": 7 }\n": nil, // white space is no data
		`{"v":1,"os":"linux","pid":7,"later":[{"a":1}]}`:     nil,
		`{"v":1,"os":"linux","pid":7,"pidfd":null}`:          nil, // like one that is missing
		`{"v":1,"os":"linux","pid":7,"start":""}`:            nil,
		`{"v":1,"os":"linux","pid":7,"start":"later:1"}`:     nil, // equal only to itself

		// Newer, whatever else is in it.
		`{"v":2}`: identity.ErrNewer,
		`{"v":2,"pid":"4711","os":["linux"],"start":7}`: identity.ErrNewer,
		`{"v":999,"os":"linux","pid":7}`:                identity.ErrNewer,

		``: identity.ErrMalformed, `null`: identity.ErrMalformed, `[]`: identity.ErrMalformed,
		`7`: identity.ErrMalformed, `"x"`: identity.ErrMalformed, `{}`: identity.ErrMalformed,
		`{"os":"linux","pid":7}`:                                          identity.ErrMalformed,
		`{"v":0,"os":"linux","pid":7}`:                                    identity.ErrMalformed,
		`{"v":-1,"os":"linux","pid":7}`:                                   identity.ErrMalformed,
		`{"v":"1","os":"linux","pid":7}`:                                  identity.ErrMalformed,
		`{"v":1.5,"os":"linux","pid":7}`:                                  identity.ErrMalformed,
		`{"v":1,"os":"linux"}`:                                            identity.ErrMalformed,
		`{"v":1,"pid":7}`:                                                 identity.ErrMalformed,
		`{"v":1,"os":"","pid":7}`:                                         identity.ErrMalformed,
		`{"v":1,"os":null,"pid":7}`:                                       identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":null}`:                                 identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":0}`:                                    identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":-1}`:                                   identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":1.5}`:                                  identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":1e3}`:                                  identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":"12"}`:                                 identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":NaN}`:                                  identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":4294967296}`:                           identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":18446744073709551616}`:                 identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"PID":9}`:                            identity.ErrMalformed,
		`{"v":1,"os":"linux","PID":7}`:                                    identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"pid":7}`:                            identity.ErrMalformed,
		`{"v":1,"v":2,"os":"linux","pid":7}`:                              identity.ErrMalformed,
		`{"v":1,"V":2,"os":"linux","pid":7}`:                              identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,}`:                                   identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7}{"v":1}`:                             identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7} x`:                                  identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7`:                                     identity.ErrMalformed,
		"\xef\xbb\xbf" + `{"v":1,"os":"linux","pid":7}`:                   identity.ErrMalformed,
		"{\x00\"\x00v\x00":                                                identity.ErrMalformed,
		"{\"v\":1,\"os\":\"linux\",\"pid\":7,\"program\":\"\xff\"}":       identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"start":0}`:                          identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"start":"15234"}`:                    identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"start":"ticks:015234"}`:             identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"start":"ticks:-1"}`:                 identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"start":"usec:1.5"}`:                 identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"pidfd":-1}`:                         identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"pidfd":9007199254740992}`:           identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"pidns":9007199254740992}`:           identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"timens":"4026531834"}`:              identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"startedAt":"yesterday"}`:            identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"startedAt":1796020767}`:             identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"x":` + deep(1e5):                    identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"x":` + deep(40) + `}`:               identity.ErrMalformed,
		`{"v":1,"os":"` + strings.Repeat("x", 1<<20) + `","pid":0}`:       identity.ErrMalformed,
		`{"v":1,"os":"linux","pid":7,"startedAt":"0000-01-01T00:00:00Z"}`: identity.ErrMalformed,
	} {
		got := untouched
		begin := time.Now()
		wantDecode(t, in, got.UnmarshalJSON([]byte(in)), want, got)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%.60q took %v", in, took)
		}
	}
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestStrictText(t *testing.T) {
	const head = "probate-identity:1;os=linux;pid=7"
	for want, texts := range map[error][]string{
		nil: { // the last ones are less careful than what is written
			head, "probate-identity:1;pid=7;os=linux", head + ";later=%0A",
			head + ";program=a/b", head + ";program=%2f", head + ";start=",
		},
		identity.ErrNewer: {
			"probate-identity:2", "probate-identity:2;pid=x;pid=y",
			"probate-identity:999;os=linux;pid=7",
		},
		identity.ErrMalformed: {
			"", "probate-identity:", "probate-identity:1", "probate-identity:1;",
			"probate-identity:0;os=linux;pid=7", "probate-identity:-1;os=linux;pid=7",
			"probate-identity:+1;os=linux;pid=7", "probate-identity:01;os=linux;pid=7",
			"probate-identity:x;os=linux;pid=7",
			"probate-identity:99999999999999999999;os=linux;pid=7",
			"Probate-Identity:1;os=linux;pid=7", " " + head, head + " ", head + "\n", head + ";",
			head + ";;", head + ";=x", head + ";x", head + ";pid=7", head + ";later=1;later=2",
			head + ";program=a b", head + ";program=a\nb", head + ";program=grüße",
			head + ";program=%", head + ";program=%zz", head + ";program=%FF",
			head + ";host=%C3", head + ";boot=%FF", head + ";pidfd=0", head + ";pidfd=",
			head + ";pidfd=+1", head + ";pidfd=01", head + ";serial=0",
			head + ";pidns=-1", head + ";timens=0x10",
			head + ";pidns=9007199254740992", head + ";start=15234", head + ";start=ticks:",
			head + ";startedAt=x", "probate-identity:1;pid=7", "probate-identity:1;os=linux",
			"probate-identity:1;os=;pid=7", "probate-identity:1;os=linux;pid=0",
			"probate-identity:1;os=linux;pid=-1", "probate-identity:1;os=linux;pid=+7",
			"probate-identity:1;os=linux;pid=007", "probate-identity:1;os=linux;pid=1e3",
			"probate-identity:1;os=linux;pid=7.0", "probate-identity:1;os=linux;pid=4294967296",
			"probate-identity:1;os=linux;PID=7",
			"probate-identity:1;os=linux;pid=" + digits(100),
		},
	} {
		for _, in := range texts {
			got := untouched
			wantDecode(t, in, got.UnmarshalText([]byte(in)), want, got)
		}
	}
}

func digits(n int) string { return strings.Repeat("9", n) }

// What could not be read back is not written.
func TestMarshalRefuses(t *testing.T) {
	for name, change := range map[string]func(*identity.Identity){
		"zero":             func(id *identity.Identity) { *id = identity.Identity{} },
		"no system":        func(id *identity.Identity) { id.OS = "" },
		"pid 0":            func(id *identity.Identity) { id.PID = 0 },
		"negative pid":     func(id *identity.Identity) { id.PID = math.MinInt },
		"start":            func(id *identity.Identity) { id.Start = "15234" },
		"pidfd":            func(id *identity.Identity) { id.PIDFD = 1 << 53 },
		"serial":           func(id *identity.Identity) { id.Serial = 1 << 53 },
		"pid namespace":    func(id *identity.Identity) { id.PIDNS = math.MaxUint64 },
		"time namespace":   func(id *identity.Identity) { id.TimeNS = 1 << 53 },
		"program":          func(id *identity.Identity) { id.Program = "\xff" },
		"host":             func(id *identity.Identity) { id.Host = "a\xc3" },
		"boot":             func(id *identity.Identity) { id.Boot = "\x80" },
		"system not UTF-8": func(id *identity.Identity) { id.OS = "\x80" },
		"year 10000": func(id *identity.Identity) {
			id.StartedAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
		},
		"year 0": func(id *identity.Identity) {
			id.StartedAt = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		},
	} {
		id := goldens()[0]
		change(&id)
		if text, err := id.MarshalText(); !errors.Is(err, identity.ErrMalformed) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if text, err := id.MarshalJSON(); !errors.Is(err, identity.ErrMalformed) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if s := id.String(); !strings.HasPrefix(s, "(malformed identity") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

func FuzzUnmarshalText(f *testing.F) {
	for _, id := range goldens() {
		f.Add([]byte(id.String()))
	}
	f.Add([]byte("probate-identity:1;os=linux;pid=7;later=1;program=%2f"))
	f.Add([]byte("probate-identity:2;"))
	f.Fuzz(func(t *testing.T, text []byte) {
		id := untouched
		if err := id.UnmarshalText(text); err != nil {
			checkRefusal(t, err, id)
			return
		}
		checkStable(t, id)
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, id := range goldens() {
		text, err := id.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"v":1,"os":"linux","pid":7,"startedAt":"2026-01-01T00:00:00.123456+01:00"}`))
	f.Add([]byte(`{"v":1,"os":"linux","pid":7,"x":{}}`))
	f.Add([]byte(`{"v":2,"pid":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		id := untouched
		if err := id.UnmarshalJSON(text); err != nil {
			checkRefusal(t, err, id)
			return
		}
		checkStable(t, id)
	})
}

func checkRefusal(t *testing.T, err error, id identity.Identity) {
	t.Helper()
	newer, malformed := errors.Is(err, identity.ErrNewer), errors.Is(err, identity.ErrMalformed)
	if newer == malformed || id != untouched {
		t.Errorf("%v, %+v", err, id)
	}
}

// checkStable checks that what was accepted is written and read again without a change, and that
// judging it does no harm.
func checkStable(t *testing.T, id identity.Identity) {
	t.Helper()
	text, err := id.MarshalText()
	if err != nil {
		t.Fatalf("accepted, and not written: %v", err)
	}
	object, err := json.Marshal(id)
	if err != nil || !json.Valid(object) || bytes.ContainsAny(text, " \n") {
		t.Fatalf("%v: %s, %s", err, object, text)
	}
	var fromText, fromJSON identity.Identity
	if err := fromText.UnmarshalText(text); err != nil || !same(fromText, id) {
		t.Fatalf("%s: %v: %+v", text, err, fromText)
	}
	if err := fromJSON.UnmarshalJSON(object); err != nil || !same(fromJSON, id) {
		t.Fatalf("%s: %v: %+v", object, err, fromJSON)
	}
	if f := identity.JudgeOn(stamped().system(), id); f.Reason == "" || f.Sentence == "" {
		t.Errorf("%+v", f)
	}
}
