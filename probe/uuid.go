package probe

import (
	"errors"
	"fmt"
	"strings"
)

// parseUUID validates a UUID in text form: 8-4-4-4-12 hexadecimal digits in either case, not all of
// them the same one, which stands for "none" in firmware. It returns it in capitals, as macOS
// writes it.
func parseUUID(text string) (string, error) {
	id := strings.ToLower(text)
	digits, err := uuidDigits(id)
	if err != nil {
		return "", err
	}
	if strings.Trim(digits, digits[:1]) == "" {
		return "", errors.New("a placeholder for a UUID")
	}
	return strings.ToUpper(id), nil
}

// uuidDigits returns the 32 digits of a UUID in text form, with small letters.
func uuidDigits(id string) (string, error) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return "", errors.New("not a UUID")
	}
	digits := strings.ReplaceAll(id, "-", "")
	if len(digits) != 32 || !allHex(digits) {
		return "", errors.New("not a UUID")
	}
	return digits, nil
}

// uuidOf validates a UUID of 16 bytes.
func uuidOf(b []byte) (string, error) {
	if len(b) != 16 {
		return "", fmt.Errorf("%d bytes where a UUID has 16", len(b))
	}
	return parseUUID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
