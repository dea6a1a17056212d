// Package docs keeps versioned JSON documents, each changed by compare-and-swap: whoever writes
// says which version the change is based on, and is told when that is no longer the newest.
//
//	store, err := docs.OpenFolder("data", docs.FolderOptions{})
//	...
//	version, err := store.CompareAndSwap(ctx, "config", docs.Absent, json.RawMessage(`{"a":1}`))
//	version, err = store.CompareAndSwap(ctx, "config", version, json.RawMessage(`{"a":2}`))
//	if conflict, ok := errors.AsType[*docs.ConflictError](err); ok {
//		// somebody was faster: load conflict.Current, and try again
//	}
//
// Folder keeps them as files that record-v2 programs in other languages read and write as well,
// Memory in the memory of one process, and package sqldocs in a database. Package docstest checks
// any other Store.
//
// # What is guaranteed
//
// Of several writers with the same expected version exactly one wins, across goroutines and
// processes. The versions of a document grow by one with every write, and never repeat: a document
// that is deleted and created again goes on from where it was, so that who still holds an old
// version is refused.
//
// A value comes back as it was given, in canonical form (RFC 8785): members sorted, no white space.
// What that form cannot hold exactly is refused, not rounded: see Canonical.
//
// A document that is damaged where it is kept is ErrCorrupt, and is neither returned nor
// overwritten nor deleted. It blocks nobody else.
//
// Folder: a writer that was killed at any instruction leaves no guard behind that anybody would
// have to wait for or remove: it is taken over by proof. A writer that was overtaken (a person
// broke its lock) changes nothing. Readers wait for nobody. A write is durable before
// CompareAndSwap returns.
//
// # What is not
//
// Programs in other languages that write the files of a Folder do not know its locks: one that
// writes at the same moment can lose an update, or have one lost. They do not know of deleted
// versions either, and create a document anew at version 1.
//
// A Folder keeps two small files for every key that was ever written: its fence, and where it was
// deleted, the version that it had.
//
// Nothing is said about several documents together: each is changed on its own.
//
// # Files
//
// A Folder has, for a document KEY, the file KEY.doc.json:
//
//	{"v":1,"version":3,"value":{"a":2},"checksum":"…"}
//
// The checksum is the SHA-256, in hex, of the version in decimal, a line end, and the value in
// canonical form. Files that put the same fields in another order or with white space are read as
// well; more fields, or another v, are not. Where KEY was deleted, KEY.doc.deleted keeps the
// version of that: the same without a value. KEY.doc.json.lock, .fence and .recovery.log are those
// of package lockfile, for the state KEY.doc.json.
package docs
