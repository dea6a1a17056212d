package probe

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/windows"
)

// errRounded: the kernel drops the two lowest bits of a number when it looks for the process: 5
// would be answered with the facts of 4.
var errRounded = errors.New("process numbers are multiples of 4 on Windows")

// processHandle is an open process. While it is open the number is not given out again.
type processHandle windows.Handle

// ownHandle is this process to itself. It needs no right and is not closed.
var ownHandle = processHandle(windows.CurrentProcess())

func (h processHandle) close() { windows.CloseHandle(windows.Handle(h)) }

func openSource(pid int) string { return "OpenProcess(" + strconv.Itoa(pid) + ")" }

const (
	listSource  = "NtQuerySystemInformation(SystemProcessInformation)"
	timesSource = "GetProcessTimes()"
	waitSource  = "WaitForSingleObject(process, 0)"
)

func (s *windowsSystem) openProcess(pid int) (processHandle, error) {
	h, err := s.open(uint32(pid))
	return processHandle(h), err
}

// Process implements System.
func (s *windowsSystem) Process(pid int) Process {
	if pid <= 0 || pid > math.MaxInt32 || pid%4 != 0 {
		why := errNumber
		if pid > 0 && pid%4 != 0 {
			why = errRounded
		}
		p := unknownProcess(pid, why)
		p.unread("process number "+strconv.Itoa(pid), why)
		return p
	}
	// A process that ends while it is looked at can leave answers that do not fit together. A
	// second look then almost always finds one or none.
	p, settled := s.look(pid)
	if !settled {
		p, _ = s.look(pid)
	}
	return p
}

// look asks about pid once. settled is false when two answers contradict each other.
func (s *windowsSystem) look(pid int) (p Process, settled bool) {
	h, err := s.openProcess(pid)
	switch {
	case err == nil:
		defer h.close()
		return s.lookThrough(pid, h)
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER):
		p = s.unknown(pid, errNoProcess)
		p.note(openSource(pid), "no such process")
		return p, s.confirmMissing(&p)
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		p = s.unknown(pid, err)
		p.note(openSource(pid), "access denied")
		return p, s.lookInList(&p)
	default:
		p = s.unknown(pid, err)
		p.unread(openSource(pid), err)
		return p, true
	}
}

// unknown is unknownProcess with the reason for what Windows never has.
func (s *windowsSystem) unknown(pid int, why error) Process {
	p := unknownProcess(pid, why)
	p.PIDFD = Unknown[uint64]("", errNotHere)
	return p
}

// lookThrough describes the process behind a handle. An exit code is no answer: 259, which stands
// for "still active", is one that a process can exit with.
func (s *windowsSystem) lookThrough(pid int, h processHandle) (p Process, settled bool) {
	p = s.unknown(pid, nil)
	number, err := s.number(windows.Handle(h))
	if err != nil || number != uint32(pid) {
		if err == nil {
			err = fmt.Errorf("the handle is one of process %d", number)
		}
		p = s.unknown(pid, err)
		p.unread("GetProcessId(process "+strconv.Itoa(pid)+")", err)
		return p, false
	}
	p.note(openSource(pid), "a process has this number")
	s.readStart(&p, h)
	p.Name = imageName(h)
	switch event, err := s.wait(windows.Handle(h)); {
	case err != nil:
		p.unread(waitSource, err)
	case event == windows.WAIT_OBJECT_0:
		p.Presence = Exited
		p.note(waitSource, "has exited")
		p.State = Known("zombie", waitSource)
		p.Threads = Known(0, waitSource)
		return p, true
	case event == uint32(windows.WAIT_TIMEOUT):
		p.Presence = Running
		p.note(waitSource, "has not exited")
	default:
		p.unread(waitSource, fmt.Errorf("it returned %#x", event))
	}
	s.describeThreads(&p)
	return p, true
}

// describeThreads fills in what only the process list says: how many threads there are, and whether
// all of them are suspended.
func (s *windowsSystem) describeThreads(p *Process) {
	listed, err := s.find(p.PID)
	if err == nil && listed == nil {
		err = errors.New("the process is not on the list")
	}
	if err == nil && p.Start.Known && p.Start.Value != FileTime(listed.created) {
		err = errors.New("the list has another process of that number")
	}
	if err != nil {
		p.State = Unknown[string](listSource, err)
		p.Threads = Unknown[int](listSource, err)
		return
	}
	p.Threads = Known(listed.threads, listSource)
	p.State = stateIn(listed)
}

func stateIn(listed *ntProcess) Fact[string] {
	if listed.state == "" {
		return Unknown[string](listSource, errors.New("the states of its threads say nothing"))
	}
	return Known(listed.state, listSource)
}

// confirmMissing asks a second time, in another way, before a process is called missing.
func (s *windowsSystem) confirmMissing(p *Process) (settled bool) {
	listed, err := s.find(p.PID)
	switch {
	case err != nil:
		p.unread(listSource, err)
		return true
	case listed != nil:
		p.note(listSource, "a process has this number")
		return false // a new process, or one of the two answers is made up
	}
	p.note(listSource, "no such process")
	p.Presence = Missing
	return true
}

// lookInList describes a process that may not be opened. What the list has exists; what it has not
// may have exited and be kept by a handle, or be hidden: that says nothing.
func (s *windowsSystem) lookInList(p *Process) (settled bool) {
	listed, err := s.find(p.PID)
	switch {
	case err != nil:
		p.unread(listSource, err)
		return true
	case listed == nil:
		p.unread(listSource, errors.New("the process is not on the list"))
		return false // it may have ended in between
	case listed.threads == 0:
		p.unread(listSource, errors.New("the process has no threads: it begins, or has ended"))
		return false
	}
	p.Presence = Running
	p.note(listSource, "on the list, threads "+strconv.Itoa(listed.threads))
	p.Threads = Known(listed.threads, listSource)
	p.State = stateIn(listed)
	if listed.name != "" {
		p.Name = Known(listed.name, listSource)
	}
	p.setStart(startOf(listed.created, listSource))
	return true
}

// find looks a process up in the list; nil when it is not there.
func (s *windowsSystem) find(pid int) (*ntProcess, error) {
	list, err := s.list()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].pid == uint64(pid) {
			return &list[i], nil
		}
	}
	return nil, nil
}

func (s *windowsSystem) readStart(p *Process, h processHandle) {
	created, err := s.times(windows.Handle(h))
	if err != nil {
		p.unread(timesSource, err)
		p.setStart(Unknown[Start](timesSource, err))
		return
	}
	p.setStart(startOf(created, timesSource))
	p.note(timesSource, "start "+p.Start.String())
}

// startOf makes a start value of a creation time, which the kernel notes once and never changes.
func startOf(created uint64, source string) Fact[Start] {
	if _, err := wallTime(created); err != nil {
		return Unknown[Start](source, fmt.Errorf("creation time %d is %w", created, err))
	}
	return Known(FileTime(created), source)
}

func (p *Process) setStart(start Fact[Start]) {
	p.Start = start
	p.StartedAt = Unknown[time.Time](start.Source, start.Err)
	if n, ok := fileTimeOf(start.Value); start.Known && ok {
		if t, err := wallTime(n); err == nil {
			p.StartedAt = Known(t.Truncate(time.Millisecond), start.Source)
		}
	}
}

// imageName is the base name of the program's file.
func imageName(h processHandle) Fact[string] {
	const source = "QueryFullProcessImageName()"
	var err error
	for _, length := range []uint32{512, windows.MAX_LONG_PATH} {
		buf := make([]uint16, length)
		err = windows.QueryFullProcessImageName(windows.Handle(h), 0, &buf[0], &length)
		if err == nil {
			return Known(filepath.Base(windows.UTF16ToString(buf[:length])), source)
		}
		if err != windows.ERROR_INSUFFICIENT_BUFFER {
			break
		}
	}
	return Unknown[string](source, err)
}
