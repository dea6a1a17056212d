package fence

import (
	"errors"
	"fmt"
)

// The bytes of a counter: 20 digits and a newline. The width is fixed so that a raise is one write
// in place which neither grows nor shrinks the file. Other programs write the plain number and a
// newline.

const (
	digits   = 20
	width    = digits + 1
	readSize = 64 // more than any valid counter, so that what is too long shows
)

func encode(
	t Token,
) []byte {
	return fmt.Appendf(make([]byte, 0, width), "%0*d\n", digits, uint64(t))
}

// decode accepts exactly the fixed width form and the canonical decimal form, each with its
// newline: a number without one may be the first part of a longer one.
func decode(b []byte) (Token, error) {
	switch {
	case len(b) == 0:
		return 0, errors.New("the file is empty")
	case b[len(b)-1] != '\n':
		return 0, fmt.Errorf("%s does not end in a newline", quote(b))
	}
	num := b[:len(b)-1]
	if len(num) == 0 || len(num) > digits || len(num) < digits && len(num) > 1 && num[0] == '0' {
		return 0, fmt.Errorf("%s is not a number in the right form", quote(b))
	}
	var t Token
	for _, c := range num {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%s is not a number in the right form", quote(b))
		}
		if t = t*10 + Token(c-'0'); t > Max {
			return 0, fmt.Errorf("%s is more than a counter can be", quote(b))
		}
	}
	return t, nil
}

// quote shows the beginning of what was found.
func quote(b []byte) string {
	if len(b) > 32 {
		return fmt.Sprintf("%q and more", b[:32])
	}
	return fmt.Sprintf("%q", b)
}
