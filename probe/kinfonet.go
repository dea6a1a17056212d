package probe

import "encoding/binary"

// Layout of struct kinfo_proc2 of NetBSD (sys/sysctl.h), which is made to be the same on 32 and 64
// bits and grows only at its end.
const (
	netSize      = 640 // up to p_realstat: the kernel cuts what it says to the size asked for
	netFlag      = 112
	netPID       = 116
	netStat      = 360 // of one of its threads
	netComm      = 368
	netCommEnd   = netComm + 24
	netValid     = 448 // p_uvalid: the fields that follow are; not of a zombie
	netStartSec  = 456
	netStartUsec = 460
	netThreads   = 616
	netRealStat  = 632 // of the process
)

// States of a process (sys/proc.h): SIDL, SACTIVE, SDYING (about to become a zombie), SSTOP, SZOMB,
// SDEAD. Whether an active one runs or sleeps is in the states of its threads.
var netStates = map[int]string{1: "idle", 3: "running", 4: "stopped", 5: "zombie", 6: "dead"}

// States of a thread (sys/lwp.h): LSRUN, LSSLEEP, LSSTOP, LSONPROC, LSSUSPENDED.
var netThreadStates = map[int]string{
	2: "running", 3: "sleeping", 4: "stopped", 7: "running", 8: "stopped",
}

// decodeNetBSD reads what sysctl kern.proc2 says about one process. Its start is the wall time of
// the fork and is not written again.
func decodeNetBSD(b []byte, order binary.ByteOrder) (kinfo, error) {
	t, err := sized(b, netSize, order)
	if err != nil {
		return kinfo{}, err
	}
	stat, threads := t.i64(netRealStat), t.i64(netThreads)
	number := -1
	if stat >= 0 && stat < 128 {
		number = int(stat)
	}
	state := netStates[number]
	if number == 2 {
		state = netThreadStates[t.i8(netStat)]
	}
	k := kinfo{
		pid:     t.i32(netPID),
		number:  number,
		state:   traced(state, uint64(t.u32(netFlag))),
		exited:  number == 5 || number == 6,
		threads: -1,
		comm:    t.text(netComm, netCommEnd),
		start: kstart{t.i64(netValid) != 0, int64(t.u32(netStartSec)),
			int64(t.u32(netStartUsec))},
	}
	if threads >= 0 && threads < 1<<31 {
		k.threads = int(threads)
	}
	return k.checked()
}
