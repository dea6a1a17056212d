package ops_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/store/ops"
)

const capability = `{"v":1,"contract":"same-key-same-request-takes-place-once","endpoint":"bank",` +
	`"key":"pay","digest":"d","issuedAt":"2026-11-30T06:00:00Z","expiresAt":"2026-11-30T07:00:00Z"}`

func at(clock string) time.Time {
	t, err := time.Parse("15:04:05.000", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 11, 30, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

func TestRetryCapability(t *testing.T) {
	c, err := ops.ParseRetryCapability([]byte(" " + capability + "\n"))
	noError(t, err)
	want := ops.RetryCapability{Endpoint: "bank", Key: "pay", Digest: "d",
		IssuedAt: at("06:00:00.000"), ExpiresAt: at("07:00:00.000")}
	if c != want {
		t.Errorf("%+v", c)
	}
	data, err := json.Marshal(c)
	noError(t, err)
	var back ops.RetryCapability
	if err := json.Unmarshal(data, &back); err != nil || back != c {
		t.Errorf("%s: %+v, %v", data, back, err)
	}
	good := ops.Effect{Key: "pay", Digest: "d", Endpoint: "bank"}
	for _, clock := range []string{"06:00:00.000", "06:30:00.000", "06:59:59.999"} {
		if err := c.Check(good, at(clock)); err != nil {
			t.Errorf("at %s: %v", clock, err)
		}
		if err := c.Check(good, at(clock).In(time.FixedZone("", 3600*5))); err != nil {
			t.Errorf("at %s elsewhere: %v", clock, err)
		}
	}
	for name, no := range map[string]error{
		"expired":        c.Check(good, at("07:00:00.000")),
		"long expired":   c.Check(good, at("07:00:00.000").AddDate(1, 0, 0)),
		"clock put back": c.Check(good, at("05:59:59.999")),
		"other key":      c.Check(ops.Effect{Key: "Pay", Digest: "d", Endpoint: "bank"}, at("06:30:00.000")),
		"other request":  c.Check(ops.Effect{Key: "pay", Digest: "D", Endpoint: "bank"}, at("06:30:00.000")),
		"other endpoint": c.Check(ops.Effect{Key: "pay", Digest: "d", Endpoint: "bonk"}, at("06:30:00.000")),
		"no effect":      c.Check(ops.Effect{}, at("06:30:00.000")),
		"no capability":  ops.RetryCapability{}.Check(good, at("06:30:00.000")),
		"nothing at all": ops.RetryCapability{}.Check(ops.Effect{}, time.Time{}),
	} {
		if !errors.Is(no, ops.ErrNoRetry) {
			t.Errorf("%s: %v", name, no)
		}
	}
}

// The contract is strict: whatever is not exactly it gives no permission.
func TestRetryCapabilityStrict(t *testing.T) {
	change := func(from, to string) string {
		if !strings.Contains(capability, from) {
			t.Fatalf("%s is not there", from)
		}
		return strings.Replace(capability, from, to, 1)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"null":              "null",
		"array":             "[" + capability + "]",
		"text":              `"yes"`,
		"two":               capability + capability,
		"trailing text":     capability + " x",
		"cut short":         capability[:len(capability)-1],
		"version 2":         change(`"v":1`, `"v":2`),
		"version 1.0":       change(`"v":1`, `"v":1.0`),
		"version as text":   change(`"v":1`, `"v":"1"`),
		"no version":        change(`"v":1,`, ``),
		"other contract":    change(`takes-place-once`, `takes-place-twice`),
		"contract in case":  change(`same-key`, `Same-Key`),
		"no contract":       change(`"contract":"same-key-same-request-takes-place-once",`, ``),
		"contract true":     change(`"same-key-same-request-takes-place-once"`, `true`),
		"unknown key":       change(`"v":1`, `"v":1,"scope":"all"`),
		"key twice":         change(`"v":1`, `"v":1,"key":"pay"`),
		"case variant":      change(`"key"`, `"Key"`),
		"case variant more": change(`"v":1`, `"v":1,"KEY":"x"`),
		"key null":          change(`"key":"pay"`, `"key":null`),
		"key empty":         change(`"key":"pay"`, `"key":""`),
		"key a number":      change(`"key":"pay"`, `"key":7`),
		"key an object":     change(`"key":"pay"`, `"key":{}`),
		"digest empty":      change(`"digest":"d"`, `"digest":""`),
		"endpoint missing":  change(`"endpoint":"bank",`, ``),
		"invalid UTF-8":     change(`"pay"`, "\"p\xff\""),
		"local time":        change(`07:00:00Z`, `07:00:00+00:00`),
		"no zone":           change(`07:00:00Z`, `07:00:00`),
		"seconds since":     change(`"2026-11-30T07:00:00Z"`, `1796022000`),
		"no expiry":         change(`,"expiresAt":"2026-11-30T07:00:00Z"`, ``),
		"expiry null":       change(`"2026-11-30T07:00:00Z"`, `null`),
		"expires at issue":  change(`07:00:00Z`, `06:00:00Z`),
		"expires before":    change(`07:00:00Z`, `05:00:00Z`),
		"no such day":       change(`2026-11-30T07`, `2026-11-31T07`),
		"byte order mark":   "\ufeff" + capability,
		"half a character":  change(`"pay"`, `"pa\ud800"`),
		"hour of one digit": change(`T06:00:00Z`, `T6:00:00Z`),
		"fraction, comma":   change(`06:00:00Z`, `06:00:00,5Z`),
		"blank for T":       change(`2026-11-30T06`, `2026-11-30 06`),
	} {
		c, err := ops.ParseRetryCapability([]byte(text))
		if !errors.Is(err, ops.ErrCapability) || c != (ops.RetryCapability{}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// An effect is sent again only when it is recorded, with the very request, not answered, and under
// a capability.
func TestMayRetry(t *testing.T) {
	c, err := ops.ParseRetryCapability([]byte(capability))
	noError(t, err)
	s := open(t, t.TempDir(), ops.Options{})
	op := begin(t, s, "r", "e")
	now := at("06:30:00.000")
	if err := op.MayRetry("pay", "d", c, now); !errors.Is(err, ops.ErrNotFound) {
		t.Errorf("not recorded: %v", err)
	}
	op, err = s.RecordEffects(ctx, "r", op.Revision, ops.Effect{Key: "pay", Digest: "d", Endpoint: "bank"},
		ops.Effect{Key: "ship", Digest: "d", Endpoint: "bank"})
	noError(t, err)
	op = get(t, s, "r")
	if err := op.MayRetry("pay", "d", c, now); err != nil {
		t.Errorf("recorded: %v", err)
	}
	for name, err := range map[string]error{
		"another request": op.MayRetry("pay", "x", c, now),
		"another key":     op.MayRetry("ship", "d", c, now),
		"no capability":   op.MayRetry("pay", "d", ops.RetryCapability{}, now),
		"expired":         op.MayRetry("pay", "d", c, at("08:00:00.000")),
	} {
		if !errors.Is(err, ops.ErrNoRetry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	op, _, err = s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r", Effect: "pay"})
	noError(t, err)
	if err := op.MayRetry("pay", "d", c, now); !errors.Is(err, ops.ErrNoRetry) {
		t.Errorf("answered: %v", err)
	}
}
