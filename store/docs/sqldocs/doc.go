// Package sqldocs keeps versioned documents in a table of a database.
//
//	db, err := sql.Open("sqlite", "file:data.db")
//	store, err := sqldocs.Open(ctx, db, "data.db", sqldocs.Options{})
//	defer store.Close()
//	version, err := store.CompareAndSwap(ctx, "config", docs.Absent, value)
//
// # What is guaranteed
//
// What docs.Store says, checked by package docstest.
//
// One process at a time writes: it holds the lock of package lockfile beside the database from Open
// to Close. When it dies, the next Open takes over by proof, however it died.
//
// Every tenure has a token of its own, larger than all before. It stands in each row that is
// written, and in a table of its own from Open on, and every statement compares both: a writer that
// was overtaken, and does not know it yet because it was stopped between looking and writing, is
// refused by the database itself (docs.ErrFenced), and changes nothing. That holds for rows that
// the later writer has not touched as well.
//
// # What is not
//
// Programs that write the tables with statements of their own are not kept from anything. What they
// leave that is no document of ours is docs.ErrCorrupt, or no document where its key is none.
//
// Durability is the database's: see its settings. Watch looks again after every write of this
// process, and at others' every Options.Poll.
//
// The statements are plain SQL with ? as the placeholder. They are tested with SQLite.
package sqldocs
