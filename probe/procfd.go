package probe

import (
	"strconv"
	"strings"
)

// fdInfo is what this package uses of /proc/<pid>/fdinfo/<fd>.
type fdInfo struct {
	flags   uint64 // open(2) flags
	flagsOK bool
	mount   int // number of the mount in mountinfo, -1 when the kernel does not say
	locked  bool
}

// parseFDInfo reads /proc/<pid>/fdinfo/<fd>. Lines that it does not know are skipped: every kind of
// file adds its own.
func parseFDInfo(b []byte) fdInfo {
	info := fdInfo{mount: -1}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "flags":
			n, err := strconv.ParseUint(value, 8, 64)
			info.flags, info.flagsOK = n, err == nil
		case "mnt_id":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 {
				info.mount = n
			}
		case "lock":
			// "1: FLOCK  ADVISORY  WRITE 3345 08:01:123 0 EOF". Leases and delegations stand here
			// too.
			if words := strings.Fields(value); len(words) > 1 {
				switch words[1] {
				case "FLOCK", "OFDLCK", "POSIX":
					info.locked = true
				}
			}
		}
	}
	return info
}
