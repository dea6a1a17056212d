// Command soak keeps six processes committing to one state while it kills and stops them, and
// counts what must never happen: an acknowledged commit that is lost, two holders at once, a
// stopped holder that is taken over, a standstill, a file that is left over.
//
//	go run ./scripts/soak [-for 2m] [-dir DIR] [-seed N]
//
// It is longer and rougher than a test: `go test ./...` has the same invariants in short.
package main
