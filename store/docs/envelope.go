package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// A document is kept as {"v":1,"version":N,"value":…,"checksum":"…"}, the format of record-v2
// stores in other languages: in a file of its own, or, the value and the checksum, in a row.

// Checksum returns what is kept beside a document: the SHA-256, in hex, of the version, a line end,
// and the value in canonical form.
func Checksum(version Version, canonical []byte) string {
	h := sha256.New()
	h.Write(strconv.AppendUint(nil, uint64(version), 10))
	h.Write([]byte("\n"))
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil))
}

// encode returns the content of a document's file.
func encode(version Version, canonical []byte) []byte {
	return fmt.Appendf(nil, `{"v":1,"version":%d,"value":%s,"checksum":"%s"}`, uint64(version),
		canonical, Checksum(version, canonical))
}

// decode returns what the content of a document's file holds. Errors match ErrCorrupt.
func decode(data []byte) (Version, json.RawMessage, error) {
	version, fields, err := decodeFields(data, "value")
	if err != nil {
		return 0, nil, err
	}
	value := fields["value"]
	return version, value, checkSum(version, value, fields["checksum"])
}

// encodeDeleted returns the content of the file that tells how far a deleted document had come.
func encodeDeleted(version Version) []byte {
	return fmt.Appendf(nil, `{"v":1,"version":%d,"checksum":"%s"}`, uint64(version),
		Checksum(version, nil))
}

func decodeDeleted(data []byte) (Version, error) {
	version, fields, err := decodeFields(data)
	if err != nil {
		return 0, err
	}
	return version, checkSum(version, nil, fields["checksum"])
}

// decodeFields returns the version and all fields, which must be those and no others.
func decodeFields(data []byte, more ...string) (Version, map[string]json.RawMessage, error) {
	canonical, err := canonicalTo(maxDepth+1, data)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &fields); err != nil || fields == nil {
		return 0, nil, fmt.Errorf("%w: it is not an object", ErrCorrupt)
	}
	if v, ok := fields["v"]; ok && string(v) != "1" {
		return 0, nil, fmt.Errorf(
			"%w: it has the format %s, and this program knows 1",
			ErrCorrupt,
			v,
		)
	}
	names := append([]string{"v", "version", "checksum"}, more...)
	for _, name := range names {
		if _, ok := fields[name]; !ok {
			return 0, nil, fmt.Errorf("%w: %q is missing", ErrCorrupt, name)
		}
	}
	if len(fields) != len(names) {
		return 0, nil, fmt.Errorf("%w: it has %d fields, and not only %q", ErrCorrupt, len(fields),
			names)
	}
	n, err := strconv.ParseUint(string(fields["version"]), 10, 64)
	if version := Version(n); err == nil && version != Absent && version <= MaxVersion {
		return version, fields, nil
	}
	return 0, nil, fmt.Errorf("%w: version %s", ErrCorrupt, fields["version"])
}

func checkSum(version Version, canonical []byte, field json.RawMessage) error {
	var sum string
	if json.Unmarshal(field, &sum) != nil || sum != Checksum(version, canonical) {
		return fmt.Errorf("%w: the checksum does not fit", ErrCorrupt)
	}
	return nil
}
