// Package cli is the program probate as a library: Run is all of it.
//
// Results go to standard output, talk to standard error. With --json both are JSON, one object a
// line. Every byte that comes from a record, a path or another process is escaped on its way out,
// at one place for people (escape) and one for JSON (writeJSON), so that no label can move a cursor
// or turn text around. The lease of a lock is a secret: it is handed to the command of run and of
// write in its environment, and written nowhere else.
package cli
