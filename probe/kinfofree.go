package probe

import (
	"encoding/binary"
	"fmt"
)

// Layout of struct kinfo_proc of FreeBSD on 64 bits (sys/user.h, the same since FreeBSD 7): the
// kernel promises its size in the first field.
const (
	freeSize      = 1088
	freeTheirSize = 0
	freeLayout    = 4
	freePID       = 72
	freeStartSec  = 336
	freeStartUsec = 344
	freeFlag      = 368
	freeStat      = 388
	freeComm      = 447
	freeCommEnd   = freeComm + 20
	freeThreads   = 596
)

// States that FreeBSD has besides the classic ones: SWAIT (an interrupt thread) and SLOCK.
var freeStates = map[int]string{6: "sleeping", 7: "disk-sleep"}

// decodeFreeBSD reads what sysctl kern.proc.pid says about one process. ki_start is computed for
// every answer, from the start in time since boot and the boot time as the clock has it now
// (fill_kinfo_proc_only in sys/kern/kern_proc.c): it moves with the clock, and only its distance
// from kern.boottime is a fact.
func decodeFreeBSD(b []byte, order binary.ByteOrder) (kinfo, error) {
	t, err := sized(b, freeSize, order)
	if err != nil {
		return kinfo{}, err
	}
	if size, layout := t.i32(freeTheirSize), t.i32(freeLayout); size != freeSize || layout != 0 {
		return kinfo{}, fmt.Errorf("the process table has layout %d of size %d, known is 0 of %d",
			layout, size, freeSize)
	}
	stat := t.i8(freeStat)
	state, classic := classicStates[stat]
	if !classic {
		state = freeStates[stat]
	}
	return kinfo{
		pid:     t.i32(freePID),
		number:  stat,
		state:   traced(state, uint64(t.i64(freeFlag))),
		exited:  stat == 5,
		threads: t.i32(freeThreads),
		comm:    t.text(freeComm, freeCommEnd),
		start:   kstart{true, t.i64(freeStartSec), t.i64(freeStartUsec)},
	}.checked()
}
