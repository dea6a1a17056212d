package probe

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// The structures below follow the headers of the systems field by field, so that the offsets in the
// decoders are derived twice. Padding is written out. Machines with these systems are not at hand
// where this was written: the bytes are constructed, not captured.

type xnuProc struct { // struct kinfo_proc, 64 bits: bsd/sys/sysctl.h, bsd/sys/proc.h
	Start                        struct{ Sec, Usec int32x8 }
	VMSpace, SigActs             uint64
	Flag                         int32
	Stat                         int8
	_                            [3]byte
	PID, OPPID, DupFD            int32
	_                            [4]byte
	UserStack, ExitThread        uint64
	Debugger, SigWait            int32
	EstCPU                       uint32
	CPUTicks                     int32
	PctCPU                       uint32
	_                            [4]byte
	WChan, WMesg                 uint64
	SwTime, SlpTime              uint32
	RealTimer                    [4]uint64
	RTime                        [2]uint64
	UTicks, STicks, ITicks       uint64
	TraceFlag                    int32
	_                            [4]byte
	TraceP                       uint64
	SigList                      int32
	_                            [4]byte
	TextVP                       uint64
	HoldCount                    int32
	SigMask, SigIgnore, SigCatch uint32
	Priority, UserPriority       uint8
	Nice                         int8
	Comm                         [17]byte
	_                            [4]byte
	PGrp, Addr                   uint64
	XStat, AcFlag                uint16
	_                            [4]byte
	RU                           uint64
	_                            [352]byte // struct eproc
}

// int32x8 is a number of eight bytes; tv_usec of macOS has four, and four of padding.
type int32x8 = int64

type xnuUnique struct { // struct proc_uniqidentifierinfo: bsd/sys/proc_info.h
	UUID               [16]byte
	UniqueID, ParentID uint64
	Version, Parent    int32
	_                  [2]uint64
}

type freeProc struct { // struct kinfo_proc, 64 bits: sys/user.h
	StructSize, Layout                   int32
	_                                    [8]uint64 // args to wchan
	PID, PPID, PGID, TPGID, SID, TSID    int32
	JobC, Spare1                         int16
	TDev11                               uint32
	Signals                              [16]uint32
	UID, RUID, SvUID, RGID, SvGID        uint32
	NGroups, Spare2                      int16
	Groups                               [16]uint32
	Size                                 uint64
	Segments                             [5]int64
	XStat, AcFlag                        uint16
	PctCPU, EstCPU, SlpTime, SwTime, Cow uint32
	Runtime                              uint64
	Start                                struct{ Sec, Usec int64 }
	ChildTime                            [2]int64
	Flag, KiFlag                         int64
	TraceFlag                            int32
	Stat, Nice, Lock, RQIndex            int8
	OldCPUs                              [2]uint8
	TDName                               [17]byte
	WMesg                                [9]byte
	Login                                [18]byte
	LockName                             [9]byte
	Comm                                 [20]byte
	Emul                                 [17]byte
	LoginClass                           [18]byte
	MoreTDName                           [4]byte
	SpareStrings                         [46]byte
	SpareInts                            [2]int32
	TDev                                 uint64
	OnCPU, LastCPU, Tracer, Flag2, FIB   int32
	CredFlags                            uint32
	JailID, Threads, TID                 int32
	Priority                             [4]byte
	RUsage                               [36]uint64
	Pointers                             [4]uint64
	SparePointers                        [6]uint64
	SpareLongs                           [12]int64
	SFlag, TDFlags                       int64
}

type openProc struct { // struct kinfo_proc: sys/sysctl.h of OpenBSD
	Pointers                           [12]uint64
	EFlag, ExitSignal, Flag, PID, PPID int32
	SID, PGID, TPGID                   int32
	UID, RUID, GID, RGID               uint32
	Groups                             [16]uint32
	NGroups, JobC                      int16
	TDev, EstCPU, RTimeSec, RTimeUsec  uint32
	CPUTicks                           int32
	PctCPU, SwTime, SlpTime            uint32
	SchedFlags                         int32
	UTicks, STicks, ITicks, TraceP     uint64
	TraceFlag, HoldCount               int32
	Signals                            [4]uint32
	Stat                               int8
	Priorities                         [3]uint8
	XStat, AcFlag                      uint16
	Comm                               [24]byte
	WMesg                              [8]byte
	WChan                              uint64
	Login                              [32]byte
	Segments                           [4]int32
	Valid                              int64
	StartSec                           uint64
	StartUsec                          uint32
	Times                              [4]uint32
	_                                  [4]byte
	RUsage                             [14]uint64
	ChildTime                          [2]uint32
	PSFlags, Spare                     int32
	SvUID, SvGID                       uint32
	Emul                               [8]byte
	RSSLimit, CPUID, MapSize           uint64
	TID                                int32
	RTable                             uint32
}

type netProc struct { // struct kinfo_proc2 up to p_realstat: sys/sysctl.h of NetBSD
	Pointers                           [13]uint64
	EFlag, ExitSignal, Flag, PID, PPID int32
	SID, PGID, TPGID                   int32
	UID, RUID, GID, RGID               uint32
	Groups                             [16]uint32
	NGroups, JobC                      int16
	TDev, EstCPU, RTimeSec, RTimeUsec  uint32
	CPUTicks                           int32
	PctCPU, SwTime, SlpTime            uint32
	SchedFlags                         int32
	UTicks, STicks, ITicks, TraceP     uint64
	TraceFlag, HoldCount               int32
	Signals                            [16]uint32
	Stat                               int8
	Priorities                         [3]uint8
	XStat, AcFlag                      uint16
	Comm                               [24]byte
	WMesg                              [8]byte
	WChan                              uint64
	Login                              [24]byte
	Segments                           [4]int32
	Valid                              int64
	StartSec, StartUsec                uint32
	Times                              [4]uint32
	RUsage                             [14]uint64
	ChildTime                          [2]uint32
	CPUID, RealFlag, Threads, Running  uint64
	RealStat                           uint64
}

type flyProc struct { // the beginning of struct kinfo_proc: sys/kinfo.h of DragonFly BSD
	Paddr                     uint64
	Flags, Stat, Lock, AcFlag int32
	TraceFlag                 int32
	_                         [4]byte
	FD                        uint64
	Signals                   [12]uint32
	SigFlag                   int32
	_                         [4]byte
	Start                     struct{ Sec, Usec int64 }
	Comm                      [17]byte
	_                         [3]byte
	UID                       uint32
	NGroups                   int16
	_                         [2]byte
	Groups                    [16]uint32
	RUID, SvUID, RGID, SvGID  uint32
	PID, PPID, PGID           int32
	Rest                      [400]byte
}

// bytesOf lays a structure out as a kernel of that byte order does.
func bytesOf(t testing.TB, order binary.ByteOrder, structure any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, order, structure); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// name20 etc. put a name into an array and leave bytes after its end that must not be read.
func name(to []byte, s string) {
	n := copy(to, s)
	for i := n + 1; i < len(to); i++ {
		to[i] = '#'
	}
}
