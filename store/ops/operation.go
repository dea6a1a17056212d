package ops

import (
	"encoding/json"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
)

// Revision counts the versions of an operation. It grows with every change, not always by one.
type Revision uint64

// Operation is what is known durably about one operation. What a method returns is the caller's
// copy: changing it changes nothing.
type Operation struct {
	ID          string          `json:"id"` // of the request that began it
	Environment string          `json:"environment"`
	Digest      string          `json:"digest"` // of the request
	Phase       Phase           `json:"phase"`
	Revision    Revision        `json:"revision"`
	Data        json.RawMessage `json:"data,omitempty"` // the caller's, JSON

	Owned    []Resource `json:"owned,omitempty"`    // what it has made, or may have made
	Effects  []Effect   `json:"effects,omitempty"`  // what it has sent, or may have sent
	Receipts []Receipt  `json:"receipts,omitempty"` // what came back

	Follows  string `json:"follows,omitempty"`  // id of the operation that this one follows up
	FollowUp string `json:"followUp,omitempty"` // id of the one that follows this one up

	Owner Stamp `json:"owner"` // the process that began or claimed it
	// Others are the processes, besides the owner, that have changed it since it was begun or
	// claimed, and were not provably gone at the latest change. Who only hands in receipts is not
	// among them.
	Others    []Stamp   `json:"others,omitempty"`
	Writer    Stamp     `json:"writer"`           // the process that wrote this revision
	Claims    []Claimed `json:"claims,omitempty"` // the latest changes of owner, oldest first
	CreatedAt time.Time `json:"createdAt"`        // for people; never evidence
	UpdatedAt time.Time `json:"updatedAt"`        // for people; never evidence

	Archived bool `json:"archived,omitempty"` // put away by ArchiveFinished
	// Restored says why this is the previous version, or "": the newest one is missing or torn.
	// Something that was acknowledged may be missing from it, at most the latest change.
	Restored string `json:"restored,omitempty"`
}

// Decode decodes Data into v.
func (o Operation) Decode(v any) error { return json.Unmarshal(o.Data, v) }

// Stamp names a process that wrote.
type Stamp struct {
	Process identity.Identity `json:"process"`
	Fence   fence.Token       `json:"fence"` // of the store's lock at that time
	At      time.Time         `json:"at"`    // for people; never evidence
}

// Request asks for an operation.
type Request struct {
	// ID names the request, and the operation: 1 to MaxID bytes of UTF-8, anything else goes.
	// Whoever is not sure whether a request got through sends it again under the same id.
	ID string
	// Environment is what at most one unfinished operation works on at a time; as ID.
	Environment string
	// Digest stands for what is asked for. Empty: that of Data, see Digest.
	Digest string
	// Data becomes Operation.Data, as encoding/json writes it. nil: none.
	Data any
}

// Change is a change of an operation.
type Change struct {
	Phase Phase // "": as it is
	Data  any   // nil: as it is
	// FollowUp is begun in the same step, when Phase is terminal: no other operation comes in
	// between in that environment, whatever crashes. Its Environment may be left empty.
	FollowUp *Request
}

// Resource is something that an operation makes outside of the store and must not leave behind.
type Resource struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"` // JSON; what is needed to find and remove it
}

// Receipt says what became of something that an operation asked for. It comes with a nonce that
// can be used once in the whole store.
type Receipt struct {
	Nonce     string          `json:"nonce"`
	Operation string          `json:"operation"`         // id
	Effect    string          `json:"effect,omitempty"`  // key of the effect that it answers, or ""
	Outcome   json.RawMessage `json:"outcome,omitempty"` // JSON
	// LogTail is for people, and no part of what the receipt says: the same receipt with another
	// tail is the same receipt. Only its last MaxLogTail bytes are kept.
	LogTail string `json:"logTail,omitempty"`
}

// Takeover says on what ground Claim may take an operation whose process is not provably gone. The
// zero value: on none.
type Takeover struct {
	// Reason is a person's, for the record. The other two require it, with a letter or digit in it.
	Reason      string
	EvenUnknown bool // also when nothing can be proven
	EvenAlive   bool // also when its process lives
}

// Claimed is the record of a claim.
type Claimed struct {
	From    Stamp            `json:"from"`
	To      Stamp            `json:"to"`
	Verdict identity.Verdict `json:"verdict"`
	Reason  identity.Reason  `json:"reason"`         // of the verdict
	Word    string           `json:"word,omitempty"` // Takeover.Reason
}

// Recovery is an unfinished operation, and whether anybody may still be working on it.
type Recovery struct {
	Operation Operation
	// Finding is about the operation's owner and the others that changed it: alive when one of them
	// lives, gone when all are provably gone, else unknown.
	Finding identity.Finding
}

// Limits.
const (
	MaxID      = 4096     // bytes of an id, an environment, a nonce, a key
	MaxBytes   = 16 << 20 // bytes of one operation on disk
	MaxLogTail = 16 << 10 // bytes of Receipt.LogTail that are kept
	maxClaims  = 20
)
