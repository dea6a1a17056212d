package probe

import (
	"errors"
	"fmt"
)

var errHidden = errors.New("processes may be hidden here")

// hiddenBy returns which setting of FreeBSD may hide processes from this one, or could not be read.
// read reads a sysctl and says absent of one that does not exist.
func hiddenBy(read func(string) (uint32, error), absent error) error {
	for _, s := range visibility {
		v, err := read(s.name)
		switch {
		case err == absent && s.mayLack:
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		case v != s.open:
			return fmt.Errorf("%w: %s is %d", errHidden, s.name, v)
		}
	}
	return nil
}

// visibility are the switches and what they must be for every process to be seen. Those of modules
// exist only when the module is loaded.
var visibility = []struct {
	name    string
	open    uint32
	mayLack bool
}{
	{"security.jail.jailed", 0, false},
	{"security.bsd.see_other_uids", 1, false},
	{"security.bsd.see_other_gids", 1, false},
	{"security.bsd.see_jail_proc", 1, true}, // since 12
	{"security.mac.seeotheruids.enabled", 0, true},
	{"security.mac.partition.enabled", 0, true},
	{"security.mac.biba.enabled", 0, true},
	{"security.mac.mls.enabled", 0, true},
	{"security.mac.lomac.enabled", 0, true},
}
