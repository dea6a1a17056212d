// Package tenure ends the short tenures in which stores write.
package tenure

import (
	"errors"
	"log/slog"

	"github.com/probate-dev/probate/lockfile"
)

// End releases a lock whose work is done, for better or worse. That the lock is lost by now does
// not matter any more. When the gate stays closed the release goes on in the background for as long
// as the lock is held: what was committed is committed, and must not be reported as a failure.
func End(lock *lockfile.Lock, log *slog.Logger) {
	if released(lock.Release()) {
		return
	}
	go func() {
		for {
			err := lock.Release()
			if released(err) {
				return
			}
			if log != nil {
				log.Warn("lock not released yet", "lock", lock.String(), "error", err)
			}
			select {
			case <-lock.Context().Done():
			default:
				if errors.Is(err, lockfile.ErrGateBusy) {
					continue // it waited for Options.GateWait
				}
			}
			return // nothing that trying again would change: it ends with the process
		}
	}()
}

func released(err error) bool {
	return err == nil || errors.Is(err, lockfile.ErrLost) || errors.Is(err, lockfile.ErrReleased)
}
