package probe

import "encoding/binary"

// Layout of struct kinfo_proc of OpenBSD on 64 bits (sys/sysctl.h). The kernel cuts what it says to
// the size that the caller asks for, so that fields at the end may come and go.
const (
	openSize      = 616
	openPID       = 108
	openStat      = 304
	openComm      = 312
	openCommEnd   = openComm + 24
	openValid     = 400 // p_uvalid: the fields that follow are
	openStartSec  = 408
	openStartUsec = 416
)

// States that OpenBSD has besides the classic ones: SDEAD (almost reaped) and SONPROC.
var openStates = map[int]string{6: "dead", 7: "running"}

// decodeOpenBSD reads what sysctl kern.proc says about one process. Its start is computed for every
// answer, from the start in time since boot and the boot time as the clock has it now
// (sys/kern/kern_sysctl.c): it moves with the clock.
func decodeOpenBSD(b []byte, order binary.ByteOrder) (kinfo, error) {
	t, err := sized(b, openSize, order)
	if err != nil {
		return kinfo{}, err
	}
	stat := t.i8(openStat)
	state, classic := classicStates[stat]
	if !classic {
		state = openStates[stat]
	}
	return kinfo{
		pid:     t.i32(openPID),
		number:  stat,
		state:   state,
		exited:  stat == 5 || stat == 6,
		threads: -1,
		comm:    t.text(openComm, openCommEnd),
		start: kstart{t.i64(openValid) != 0, t.i64(openStartSec),
			int64(t.u32(openStartUsec))},
	}.checked()
}
