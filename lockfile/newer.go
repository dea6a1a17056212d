package lockfile

import (
	"encoding/json"
	"math"
	"time"

	"github.com/probate-dev/probate/fence"
)

// newerRecord is what a record of another version says in the words of this one: for people only.
// Nothing in it is ever judged, for nobody knows what the words mean there.
type newerRecord struct {
	owner *Owner
	fence *fence.Token // nil when it names no number
}

// readNewer reads the fields of content, one JSON object, that have the names and the types of this
// version. What is not there or of another type is left out. The lease is not looked at.
func readNewer(content []byte) newerRecord {
	var fields, proof map[string]json.RawMessage
	if json.Unmarshal(content, &fields) != nil {
		return newerRecord{}
	}
	json.Unmarshal(fields["proof"], &proof)
	o := &Owner{
		PID:     int(integer(fields["pid"], 1, math.MaxInt32)),
		Program: text(fields["program"]), Host: text(fields["host"]), Label: text(fields["label"]),
		Since: moment(fields["createdAt"]), ExpectedUntil: moment(fields["expectedUntil"]),
		OS: text(proof["os"]), Boot: text(proof["boot"]), Start: text(proof["start"]),
		PIDNamespace: uint64(integer(proof["pidns"], 1, maxExact-1)),
		Filesystem:   text(proof["fs"]), KernelLock: text(proof["kernelLock"]),
	}
	json.Unmarshal(proof["local"], &o.Local)
	if ms := integer(fields["processStart"], 1, maxExact-1); ms != 0 {
		o.StartedAt = time.UnixMilli(ms).UTC()
	}
	var n newerRecord
	if *o != (Owner{}) {
		n.owner = o
	}
	var token fence.Token
	if json.Unmarshal(fields["fence"], &token) == nil && len(fields["fence"]) > 0 &&
		token <= fence.Max {
		n.fence = &token
	}
	return n
}

func text(raw json.RawMessage) string {
	var s string
	json.Unmarshal(raw, &s)
	return s
}

// moment reads a time, the zero one where there is none.
func moment(raw json.RawMessage) time.Time {
	t, err := time.Parse(time.RFC3339, text(raw))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// integer reads an integer from least to most, 0 where there is none.
func integer(raw json.RawMessage, least, most int64) int64 {
	var n int64
	if json.Unmarshal(raw, &n) != nil || n < least || n > most {
		return 0
	}
	return n
}
