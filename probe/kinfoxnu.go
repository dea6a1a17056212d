package probe

import (
	"encoding/binary"
	"fmt"
)

// Layout of struct kinfo_proc of macOS on 64 bits, amd64 and arm64 alike (bsd/sys/sysctl.h and
// bsd/sys/proc.h of xnu). The Darwin build compares these numbers with the type in x/sys.
const (
	xnuSize      = 648
	xnuStartSec  = 0 // kp_proc.p_starttime
	xnuStartUsec = 8
	xnuFlag      = 32
	xnuStat      = 36
	xnuPID       = 40
	xnuComm      = 243
	xnuCommEnd   = xnuComm + 17
)

// decodeXNU reads what sysctl kern.proc.pid says about one process. p_starttime is the wall time of
// the fork in microseconds. It is copied on exec and never written again, also when the clock is
// set (forkproc in bsd/kern/kern_fork.c).
func decodeXNU(b []byte, order binary.ByteOrder) (kinfo, error) {
	t, err := sized(b, xnuSize, order)
	if err != nil {
		return kinfo{}, err
	}
	stat := t.i8(xnuStat)
	return kinfo{
		pid:     t.i32(xnuPID),
		number:  stat,
		state:   traced(classicStates[stat], uint64(t.u32(xnuFlag))),
		exited:  stat == 5, // SZOMB: set after the last thread has gone (proc_exit)
		threads: -1,
		comm:    t.text(xnuComm, xnuCommEnd),
		// tv_usec is an int32 with four bytes of padding.
		start: kstart{true, t.i64(xnuStartSec), int64(t.i32(xnuStartUsec))},
	}.checked()
}

// Layout of struct proc_uniqidentifierinfo (bsd/sys/proc_info.h of xnu).
const (
	xnuUniqueSize = 56
	xnuUniqueID   = 16
)

// decodeXNUUnique reads p_uniqueid, the number of the process among all of this boot, which is kept
// over exec. Zero is the kernel's own process, and what a kernel leaves that did not write it.
func decodeXNUUnique(b []byte, order binary.ByteOrder) (uint64, error) {
	t, err := sized(b, xnuUniqueSize, order)
	if err != nil {
		return 0, err
	}
	id := t.i64(xnuUniqueID)
	if id <= 0 {
		return 0, fmt.Errorf("unique process number %d", id)
	}
	return uint64(id), nil
}
