package probe

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// ntCalls are the system calls whose answers decide whether a process is there, in one place so
// that tests can make them fail.
type ntCalls struct {
	open   func(pid uint32) (windows.Handle, error)
	number func(windows.Handle) (uint32, error)
	wait   func(windows.Handle) (uint32, error)
	times  func(windows.Handle) (created uint64, err error)
	list   func() ([]ntProcess, error)
}

func realNTCalls() ntCalls {
	return ntCalls{
		open: func(pid uint32) (windows.Handle, error) {
			const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
			return windows.OpenProcess(access, false, pid)
		},
		number: windows.GetProcessId,
		wait:   func(h windows.Handle) (uint32, error) { return windows.WaitForSingleObject(h, 0) },
		times: func(h windows.Handle) (uint64, error) {
			var created, exited, kernel, user windows.Filetime
			err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user)
			return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), err
		},
		list: ntProcessList,
	}
}

// The layout of what the kernel writes for this program. A 32-bit program gets the 32-bit layout on
// 64-bit Windows too.
var ntHere = map[uintptr]ntLayout{4: nt32, 8: nt64}[unsafe.Sizeof(uintptr(0))]

// maxNTList bounds the process list: a thousand threads for each of a thousand processes.
const maxNTList = 128 << 20

// ntProcessList asks the kernel for all processes. It needs no handle on any of them. The list
// grows while it is asked for, so that the buffer may be too small more than once.
func ntProcessList() ([]ntProcess, error) {
	for size := uint32(256 << 10); ; {
		buf := make([]byte, size)
		var need uint32
		err := windows.NtQuerySystemInformation(windows.SystemProcessInformation,
			unsafe.Pointer(&buf[0]), size, &need)
		switch {
		case err == windows.STATUS_INFO_LENGTH_MISMATCH && size < maxNTList:
			size = min(max(size*2, need+need/8), maxNTList)
			continue
		case err != nil:
			return nil, err
		}
		base := uint64(uintptr(unsafe.Pointer(&buf[0])))
		return parseNTProcesses(buf[:min(need, size)], base, ntHere)
	}
}

// ntTimeOfDay asks for SYSTEM_TIMEOFDAY_INFORMATION.
func ntTimeOfDay() ([]byte, error) {
	var buf [ntTimeOfDaySize]byte
	var n uint32
	err := windows.NtQuerySystemInformation(windows.SystemTimeOfDayInformation,
		unsafe.Pointer(&buf[0]), uint32(len(buf)), &n)
	if err != nil {
		return nil, err
	}
	return buf[:min(int(n), len(buf))], nil
}
