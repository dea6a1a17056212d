// Package lockfiletest helps to test programs that use package lockfile, with locks as they are met
// in the field: held by another process that really runs, can be stopped, continued and killed, or
// left behind by one that is provably gone.
//
//	func TestMain(m *testing.M) { probetest.Run(m) }
//
//	func TestImportAfterCrash(t *testing.T) {
//		state := filepath.Join(t.TempDir(), "state.json")
//		lockfiletest.Abandoned(t, state)
//		runImport(state) // must take the lock over by itself
//	}
//
//	func TestImportWhileAnotherRuns(t *testing.T) {
//		state := filepath.Join(t.TempDir(), "state.json")
//		other := lockfiletest.Held(t, state)
//		runImport(state) // must say who holds the lock, and do nothing
//		other.Release()
//	}
//
// The other process is the test binary, started anew, see package probetest: that is why TestMain
// must call probetest.Run. It ends with the test at the latest.
package lockfiletest
