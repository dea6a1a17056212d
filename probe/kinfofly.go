package probe

import (
	"encoding/binary"
	"fmt"
)

// Layout of the beginning of struct kinfo_proc of DragonFly BSD on 64 bits (sys/kinfo.h). What
// follows has changed its size with the versions, and nothing of it is used here.
const (
	flyLeast     = 232
	flyMost      = 4096
	flyStat      = 12
	flyStartSec  = 96
	flyStartUsec = 104
	flyComm      = 112
	flyCommEnd   = flyComm + 17
	flyPID       = 220
)

// States of a process (sys/proc_common.h): SIDL, SACTIVE, SSTOP, SZOMB, SCORE (writes a core).
var flyStates = map[int]string{1: "idle", 2: "running", 3: "stopped", 4: "zombie", 5: "running"}

// decodeDragonFly reads what sysctl kern.proc.pid says about one process. Whether its start moves
// with the clock is not known.
func decodeDragonFly(b []byte, order binary.ByteOrder) (kinfo, error) {
	if len(b) < flyLeast || len(b) > flyMost {
		return kinfo{}, fmt.Errorf("%d bytes of the process table where the known layout has %d "+
			"and more", len(b), flyLeast)
	}
	t := table{b, order}
	stat := t.i32(flyStat)
	return kinfo{
		pid:     t.i32(flyPID),
		number:  stat,
		state:   flyStates[stat],
		exited:  stat == 4,
		threads: -1,
		comm:    t.text(flyComm, flyCommEnd),
		start:   kstart{true, t.i64(flyStartSec), t.i64(flyStartUsec)},
	}.checked()
}
