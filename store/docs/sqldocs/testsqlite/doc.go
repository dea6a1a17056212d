// Package testsqlite tests package sqldocs with SQLite. It is a module of its own, so that programs
// that import Probate do not get a database with it.
package testsqlite
