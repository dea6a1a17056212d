// Package ops keeps durable operations: work on something outside, in steps, that a crash may
// interrupt anywhere and that somebody must be able to find and finish.
//
//	phases := ops.Phases{
//		Initial:  "planned",
//		Next: map[ops.Phase][]ops.Phase{
//			"planned":  {"applying"},
//			"applying": {"applied", "failed"},
//		},
//		Terminal: []ops.Phase{"applied", "failed"},
//	}
//	store, err := ops.Open("operations", phases, ops.Options{})
//	op, begun, err := store.Begin(ctx,
//		ops.Request{ID: requestID, Environment: "production", Data: plan})
//	op, err = store.RecordOwned(ctx, op.ID, op.Revision,
//		ops.Resource{Kind: "disk", Name: "d-17"})
//	… make the disk …
//	op, err = store.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Phase: "applying"})
//	…
//	for r, err := range store.Recoverable() { // at the next start
//		if err == nil && r.Finding.Verdict == identity.Gone {
//			op, err := store.Claim(ctx, r.Operation.ID, r.Operation.Revision, ops.Takeover{})
//			…
//		}
//	}
//
// # What is guaranteed
//
// A request id begins one operation, ever: the same request again, by id and digest, gets that
// operation, finished and archived ones too; another request under the same id is ErrConflict.
//
// An environment has at most one unfinished operation, among all processes that use the folder.
//
// What a method has returned is on disk: after kill -9 at any instruction, and after a power cut as
// far as the disk does what fsync says. A change that did not return is there whole, or not at all.
// That goes for a follow-up too: the end of one operation and the beginning of the next are one
// step.
//
// The revision grows with every change, and no two changes get the same. One writer at a time: a
// writer that was paused and overtaken, or whose lock a person broke, is refused
// (lockfile.ErrFenced) and changes nothing. A writer that died is overtaken by proof, at once;
// nothing is waited out.
//
// An operation says which processes work on it, as stamps of package identity: the owner, which
// began or claimed it, and others that changed it since. Recoverable judges them. Unknown is never
// gone, and Claim takes nothing over from an owner that is alive or unknown, but on a person's
// word. After a restart of the machine identity.Judge does not know; Options.Judge may.
//
// The version before the newest is kept. It stands in when the newest is torn or missing, and
// Operation.Restored says so. It is at most one change behind. The revision then leaves one out,
// because somebody may have seen it. A finished operation that has left its environment's file, and
// what request ids and nonces were used for, have one copy: those are written once.
//
// A file that is damaged, foreign or of a later version blocks what it is about (its environment,
// its operation, its request id, its nonce), is named in the error, and blocks nothing else. It is
// never overwritten on trust: a torn one is kept in damaged when its previous copy has stood in.
//
// Looking (Get, Recoverable, All, Archived) takes no lock, waits for nobody, changes nothing, and
// sees every file whole.
//
// What Begin costs does not depend on the number of operations. Recoverable costs what there are
// environments; All and ArchiveFinished what there is to be listed and put away.
//
// # What is not
//
// Nothing is proven about what was sent to somebody else. RecordOwned and RecordEffects make sure
// that it is known that something may have been made or sent; whether it was is for those to say
// who were asked. An effect may be sent again only under a RetryCapability. That one has expired is
// no proof of anything.
//
// Whoever deletes both copies of an operation takes it away, and its environment is free. requests
// and archive remember what must not begin again: who removes files there gives that up.
//
// Options.Lock.Durability must not be FlushNever where a power cut matters. What package lockfile
// says about shared filesystems, and about programs that ignore the lock, is true here as well.
//
// # Files
//
// Below, ENC stands for a name that is made of any text: up to 32 lower-case letters, digits and
// dashes of it for people, a dash, and the 64 hexadecimal digits of its SHA-256. The text itself is
// in the file, and one that does not fit its name is foreign.
//
//	ENC(environment).op.json        the operation that began there last, unfinished or finished
//	ENC(environment).op.prev        the version before it; a copy of it when it is at its first
//	requests/ENC(id).json           what a request id was used for: environment and digest
//	finished/ENC(id).op.json        a finished one, after another has begun in its environment
//	archive/ENC(id).op.json         one that ArchiveFinished has put away
//	nonces/ENC(nonce).json          what a nonce was used for: operation, identity of the receipt
//	tmp/                            files that are not in place yet; cleared after a crash
//	damaged/                        files that could not be read and were replaced
//	ops.lock, ops.fence, …          of the lock, see package lockfile; its state path is "ops"
//
// A file is two lines of JSON. The first is {"v":1,"kind":KIND,"body":BODY} with the kinds
// operation, request and nonce. The second is {"sha256":"…"} over the first, its line end included.
// What does not fit its checksum is damaged; what is whole and has another version, or keys that
// this version does not know, is newer, and left alone.
//
// Files have mode 0600 and folders 0700; where root makes them they get the owner of the store's
// folder. They are written to tmp, flushed, and put in place by a rename inside
// lockfile.Lock.Commit, so that nobody who was overtaken changes anything. Begin puts three in
// place in this order, each name durable before the next where it matters: the request, the
// previous copy, the operation. From the second on the operation has begun. A crash after the first
// leaves a request id that is bound to its request, and nothing else. The version that finishes an
// operation and begins a follow-up holds the follow-up complete ("next"); until that has a file of
// its own it is read from there. Accept puts the nonce in place before the operation; a receipt
// that comes again after a crash between the two completes it. An operation moves from its
// environment's file to finished and to archive, never back, and who looks looks in that order.
//
// # Windows
//
// Files are replaced with POSIX semantics, so that readers disturb no writer. There is no flush of
// folders: names are durable as far as the filesystem's journal is.
package ops
