package lockfiletest

import (
	"os"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// Abandoned leaves a lock on the state path whose owner, a real process, was killed and is provably
// gone: the next lockfile.Acquire takes it over. It returns what lockfile.Inspect says. Where
// deaths cannot be proven, on systems without a probe or on a filesystem that other machines mount,
// the test is skipped, or fails where tb cannot skip.
func Abandoned(tb probetest.TB, path string) lockfile.Inspection {
	tb.Helper()
	return AbandonedWith(tb, path, lockfile.Options{})
}

// AbandonedWith is Abandoned by an owner that acquired with those options, see HeldWith.
func AbandonedWith(tb probetest.TB, path string, opts lockfile.Options) lockfile.Inspection {
	tb.Helper()
	HeldWith(tb, path, opts).Kill()
	in := inspect(tb, path)
	if in.Verdict != identity.Gone {
		giveUp := tb.Fatalf
		if s, ok := tb.(interface{ Skipf(string, ...any) }); ok {
			giveUp = s.Skipf
		}
		giveUp("lockfiletest: the death of an owner cannot be proven here: %v", in.Finding)
	}
	return in
}

// Unknown leaves a lock on the state path that cannot be judged, here a record of a later version:
// it is never taken over, and lockfile.Acquire refuses it. It returns what lockfile.Inspect says.
func Unknown(tb probetest.TB, path string) lockfile.Inspection {
	tb.Helper()
	in := inspect(tb, path)
	if in.Verdict != identity.Free {
		tb.Fatalf("lockfiletest: the lock of %s is not free: %v", path, in.Finding)
	}
	if err := os.WriteFile(in.Lock, []byte(`{"v":999}`), 0o600); err != nil {
		tb.Fatalf("lockfiletest: %v", err)
	}
	return inspect(tb, path)
}

func inspect(tb probetest.TB, path string) lockfile.Inspection {
	tb.Helper()
	in, err := lockfile.Inspect(path, lockfile.Options{})
	if err != nil {
		tb.Fatalf("lockfiletest: %v", err)
	}
	return in
}
