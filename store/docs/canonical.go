package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// maxDepth is one level less than what jcs.Transform and encoding/json read: in its file a value
// stands within an object.
const maxDepth = 9999

// Canonical returns a JSON value in the canonical form of RFC 8785: what stores keep and compare.
// The error matches ErrValue for what is not JSON, and for what that form would change:
//
//   - numbers that are not the shortest decimal form of a 64-bit floating point number, or equal to
//     it: 9007199254740993 would become 9007199254740992, and 1e-400 would become 0
//   - negative zero, which would become 0
//   - members of one object with the same name, lone surrogates and invalid UTF-8
//
// and for arrays and objects nested deeper than 9999 levels.
//
// 1.0, 1e0 and 1 are one number, and become 1.
func Canonical(value []byte) ([]byte, error) { return canonicalTo(maxDepth, value) }

func canonicalTo(levels int, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrValue)
	}
	canonical, err := jcs.Transform(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return canonical, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrValue, err)
		}
		switch token := token.(type) {
		case json.Number:
			if err := exact(token.String()); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrValue, err)
			}
		case json.Delim:
			if token == ']' || token == '}' {
				depth--
			} else if depth++; depth > levels {
				return nil, fmt.Errorf("%w: it is nested deeper than %d levels", ErrValue, levels)
			}
		}
	}
}

// exact returns an error when the canonical form of a number means another one.
func exact(literal string) error {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return fmt.Errorf("the number %s is out of range", shorten(literal))
	}
	kept, err := jcs.NumberToJSON(f)
	if err != nil {
		return err
	}
	was, ok := parseDecimal(literal)
	is, okIs := parseDecimal(kept)
	if !ok || !okIs || was != is {
		return fmt.Errorf("the number %s would be kept as %s", shorten(literal), kept)
	}
	return nil
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// decimal is a number as (-1)^negative × 0.digits × 10^exponent, without zeros at either end of
// digits, so that equal numbers are equal values.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal takes a JSON number apart.
func parseDecimal(s string) (d decimal, ok bool) {
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa, exponent, has := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{negative: d.negative}, true // any zero
	}
	if has {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > 1<<30 || n < -1<<30 {
			return d, false
		}
		d.exponent = n
	}
	d.exponent += len(whole) - (len(whole) + len(fraction) - len(digits))
	d.digits = strings.TrimRight(digits, "0")
	return d, true
}
