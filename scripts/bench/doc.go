// Package bench compares Probate with other lock files. It is a module of its own, so that the
// toolkit does not depend on what it is compared with.
//
//	bash ../bench.sh            # what locks cost, in one table
//	go test -bench .            # the same, once
//	go run ./contend            # what eight contenders do to one dead owner's lock
package bench
