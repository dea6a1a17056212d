package probe

import (
	"slices"

	"golang.org/x/sys/windows"
)

// Faults are answers that a system under test gets instead of the kernel's. What is nil or zero
// leaves the kernel's answer alone.
type Faults struct {
	Open, Wait, Number, Times, List error
	NumberIs                        uint32
	WaitIs                          uint32
	CreatedIs                       uint64
	Hide                            int // this process is not on the list
	ListCalls                       int
}

// NewFaulty returns the running system with faults.
func NewFaulty(f *Faults) System {
	s := newWindowsSystem()
	real := s.ntCalls
	s.open = func(pid uint32) (windows.Handle, error) {
		if f.Open != nil {
			return 0, f.Open
		}
		return real.open(pid)
	}
	s.wait = func(h windows.Handle) (uint32, error) {
		if f.Wait != nil || f.WaitIs != 0 {
			return f.WaitIs, f.Wait
		}
		return real.wait(h)
	}
	s.number = func(h windows.Handle) (uint32, error) {
		if f.Number != nil || f.NumberIs != 0 {
			return f.NumberIs, f.Number
		}
		return real.number(h)
	}
	s.times = func(h windows.Handle) (uint64, error) {
		if f.Times != nil || f.CreatedIs != 0 {
			return f.CreatedIs, f.Times
		}
		return real.times(h)
	}
	s.list = func() ([]ntProcess, error) {
		f.ListCalls++
		if f.List != nil {
			return nil, f.List
		}
		list, err := real.list()
		list = slices.DeleteFunc(list, func(p ntProcess) bool { return p.pid == uint64(f.Hide) })
		return list, err
	}
	return s
}

// NewUncached returns the running system with nothing remembered.
func NewUncached() System { return newWindowsSystem() }

// ProcessList returns the numbers and starts of all processes on the kernel's list.
func ProcessList() (map[int]Start, error) {
	list, err := ntProcessList()
	starts := map[int]Start{}
	for _, p := range list {
		starts[int(p.pid)] = FileTime(p.created)
	}
	return starts, err
}

// ParseMachineGUID is parseMachineGUID.
func ParseMachineGUID(text string) (string, error) { return parseMachineGUID(text) }
