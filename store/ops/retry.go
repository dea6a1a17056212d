package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Effect is something that an operation asks somebody else for, over a connection that can break
// after the request was sent and before its answer came.
type Effect struct {
	Key      string `json:"key"`      // the idempotency key that is sent along
	Digest   string `json:"digest"`   // of the request, exactly as it is sent
	Endpoint string `json:"endpoint"` // who is asked
}

func (e Effect) check() error {
	return errors.Join(checkText("key of the effect", e.Key),
		checkText("digest of the effect", e.Digest), checkText("endpoint", e.Endpoint))
}

// Effect returns the recorded effect with that key.
func (o Operation) Effect(key string) (Effect, bool) {
	for _, e := range o.Effects {
		if e.Key == key {
			return e, true
		}
	}
	return Effect{}, false
}

// ErrNoRetry is returned by MayRetry and RetryCapability.Check when an effect must not be sent
// again. It does not say that the effect has taken place, nor that it has not: that is for the
// endpoint, or a person, to say.
var ErrNoRetry = errors.New("must not be sent again")

// ErrCapability is returned when a retry capability is not as the contract says.
var ErrCapability = errors.New("not a retry capability")

// RetryCapability is the statement of an endpoint that the same key with the same request can be
// sent to it again until ExpiresAt, and takes place once all the same. Its form is one JSON object
// with exactly these keys:
//
//	{"v":1,"contract":"same-key-same-request-takes-place-once","endpoint":"https://…","key":"…",
//	 "digest":"…","issuedAt":"2026-11-30T06:39:27Z","expiresAt":"2026-11-30T07:39:27Z"}
//
// Expiry only ever refuses. That a capability has expired proves nothing about what was sent.
type RetryCapability struct {
	Endpoint  string
	Key       string
	Digest    string
	IssuedAt  time.Time
	ExpiresAt time.Time
}

const retryContract = "same-key-same-request-takes-place-once"

// utc is how a time is written. time.Parse also takes an hour of one digit, and a comma.
var utc = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)

var retryKeys = []string{"v", "contract", "endpoint", "key", "digest", "issuedAt", "expiresAt"}

// ParseRetryCapability reads the JSON form, strictly: every key once, none besides, nothing after
// the object. Errors match ErrCapability.
func ParseRetryCapability(data []byte) (RetryCapability, error) {
	var c RetryCapability
	no := func(format string, args ...any) (RetryCapability, error) {
		return RetryCapability{}, fmt.Errorf("%w: %w", ErrCapability, fmt.Errorf(format, args...))
	}
	fields, err := flatObject(data)
	if err != nil {
		return no("%w", err)
	}
	for _, key := range retryKeys {
		if _, ok := fields[key]; !ok {
			return no("%q is missing", key)
		}
	}
	if len(fields) != len(retryKeys) {
		return no("it has other keys than %s", strings.Join(retryKeys, ", "))
	}
	if fields["v"] != json.Number("1") || fields["contract"] != retryContract {
		return no("its contract is not version 1 of %q", retryContract)
	}
	for key, into := range map[string]*string{"endpoint": &c.Endpoint, "key": &c.Key,
		"digest": &c.Digest} {
		text, ok := fields[key].(string)
		if !ok || checkText(key, text) != nil {
			return no("%q is not 1 to %d bytes of text", key, MaxID)
		}
		*into = text
	}
	for key, into := range map[string]*time.Time{"issuedAt": &c.IssuedAt,
		"expiresAt": &c.ExpiresAt} {
		text, _ := fields[key].(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || !utc.MatchString(text) {
			return no("%q is not a time in UTC", key)
		}
		*into = at
	}
	if !c.ExpiresAt.After(c.IssuedAt) {
		return no("it expires before it is issued")
	}
	return c, nil
}

// MarshalJSON writes the form that ParseRetryCapability reads.
func (c RetryCapability) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"v": 1, "contract": retryContract, "endpoint": c.Endpoint,
		"key": c.Key, "digest": c.Digest, "issuedAt": c.IssuedAt.UTC().Format(time.RFC3339Nano),
		"expiresAt": c.ExpiresAt.UTC().Format(time.RFC3339Nano)})
}

// UnmarshalJSON is ParseRetryCapability.
func (c *RetryCapability) UnmarshalJSON(data []byte) (err error) {
	*c, err = ParseRetryCapability(data)
	return err
}

// Check reports whether the capability lets this effect be sent again at the time now: nil, or an
// error that matches ErrNoRetry. A clock before IssuedAt cannot tell whether it has expired, and
// refuses too.
func (c RetryCapability) Check(e Effect, now time.Time) error {
	no := func(format string, args ...any) error {
		return fmt.Errorf("effect %q %w: %s", e.Key, ErrNoRetry, fmt.Sprintf(format, args...))
	}
	switch {
	case c == RetryCapability{}:
		return no("there is no capability")
	case e.check() != nil:
		return no("%v", e.check())
	case c.Key != e.Key:
		return no("the capability is for key %q", c.Key)
	case c.Digest != e.Digest:
		return no("the capability is for another request")
	case c.Endpoint != e.Endpoint:
		return no("the capability is of %q, and the effect was sent to %q", c.Endpoint, e.Endpoint)
	case now.Before(c.IssuedAt):
		return no("the clock is before the capability's issue, at %s", c.IssuedAt)
	case !now.Before(c.ExpiresAt):
		return no("the capability has expired, at %s", c.ExpiresAt)
	}
	return nil
}

// MayRetry reports whether the recorded effect with that key may be sent again under the
// capability, with the request of that digest: nil, or an error that matches ErrNoRetry, or
// ErrNotFound for an effect that is not recorded. An effect that a receipt has answered is not sent
// again.
func (o Operation) MayRetry(key, digest string, c RetryCapability, now time.Time) error {
	e, ok := o.Effect(key)
	if !ok {
		return fmt.Errorf("effect %q: %w: it is not recorded in operation %q", key, ErrNotFound,
			o.ID)
	}
	if e.Digest != digest {
		return fmt.Errorf("effect %q %w: it was recorded with another request", key, ErrNoRetry)
	}
	for _, r := range o.Receipts {
		if r.Effect == key {
			return fmt.Errorf("effect %q %w: receipt %q has answered it", key, ErrNoRetry, r.Nonce)
		}
	}
	return c.Check(e, now)
}

// flatObject reads one JSON object without objects or arrays in it. encoding/json alone would take
// a key in any case, twice, and text after the end.
func flatObject(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	fields := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		value, err := dec.Token()
		if err != nil {
			return nil, err
		}
		if _, nested := value.(json.Delim); nested {
			return nil, fmt.Errorf("%q is an object or an array", key)
		}
		if _, twice := fields[key.(string)]; twice {
			return nil, fmt.Errorf("key %q twice", key)
		}
		fields[key.(string)] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("data after the object")
	}
	return fields, pairedSurrogates(data)
}
