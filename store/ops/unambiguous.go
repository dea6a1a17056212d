package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// unambiguous returns an error for JSON that two readers may take for different things, or that two
// different requests may be taken for one by: a key that stands twice in an object, of which the
// last one counts for some, and text that is not Unicode, which some replace by U+FFFD. raw must be
// JSON.
func unambiguous(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("not valid UTF-8")
	}
	if err := pairedSurrogates(raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []map[string]bool // the keys of each object that is open, nil for an array
	key := false               // whether a key comes next, in an object
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		in := len(open) > 0 && open[len(open)-1] != nil
		switch t := tok.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			key = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if in && key {
				if open[len(open)-1][t] {
					return fmt.Errorf("key %.80q twice in one object", t)
				}
				open[len(open)-1][t] = true
				key = false
				continue
			}
		}
		key = in
	}
}

// pairedSurrogates returns an error for an escape of half a character that stands alone. Outside of
// strings JSON has no backslashes.
func pairedSurrogates(raw []byte) error {
	for at := 0; ; {
		next := bytes.IndexByte(raw[at:], '\\')
		if next < 0 {
			return nil
		}
		at += next
		unit := escaped(raw[at:])
		switch {
		case unit < 0:
			at += 2 // another escape
		case unit < 0xd800 || unit > 0xdfff:
			at += 6
		case unit < 0xdc00 && escaped(raw[at+6:]) >= 0xdc00 && escaped(raw[at+6:]) <= 0xdfff:
			at += 12
		default:
			return fmt.Errorf("%s is half a character", raw[at:at+6])
		}
	}
}

// escaped returns the number in the \u escape that text begins with, -1 where it begins with none.
func escaped(text []byte) int64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseInt(string(text[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return n
}
