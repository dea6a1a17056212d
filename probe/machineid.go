package probe

import (
	"errors"
	"strings"
	"unicode"
)

// parseMachineID validates the text of a machine-id file: 32 hexadecimal digits, not all of them
// zero. Capital letters are accepted and made small, as systemd does; nothing else is repaired. An
// image that was never started holds an empty file or the word "uninitialized".
func parseMachineID(text string) (string, error) {
	id := trimJavaScript(text)
	switch {
	case id == "":
		return "", errors.New("empty")
	case id == "uninitialized":
		return "", errors.New("uninitialized")
	case len(id) != 32:
		return "", errors.New("not 32 hexadecimal digits")
	}
	id = strings.ToLower(id)
	if !allHex(id) {
		return "", errors.New("not 32 hexadecimal digits")
	}
	if strings.Trim(id, "0") == "" {
		return "", errors.New("all zero")
	}
	return id, nil
}

// trimJavaScript trims what String.prototype.trim does, because the raw machine id goes into a hash
// that programs in JavaScript compute too. It differs from strings.TrimSpace in U+0085 and U+FEFF.
func trimJavaScript(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		switch r {
		case '\t', '\n', '\v', '\f', '\r', '\uFEFF', '\u2028', '\u2029':
			return true
		}
		return unicode.Is(unicode.Zs, r)
	})
}

// parseBootID validates the text of a boot_id file: a lower-case UUID that is not all zero.
func parseBootID(text string) (string, error) {
	id := strings.TrimSuffix(text, "\n")
	digits, err := uuidDigits(id)
	if err != nil {
		return "", err
	}
	if strings.Trim(digits, "0") == "" {
		return "", errors.New("all zero")
	}
	return id, nil
}

// parseMachineGUID validates MachineGuid: a GUID that is not all zero. Braces and capitals, which
// some imaging programs write, are made away with.
func parseMachineGUID(text string) (string, error) {
	id := strings.ToLower(strings.TrimSpace(text))
	id = strings.TrimSuffix(strings.TrimPrefix(id, "{"), "}")
	return parseBootID(id)
}

// allHex reports whether s consists of digits and small letters a to f.
func allHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
