package probe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"time"
)

// tableSystem is a kernel that is asked for one structure of its process table at a time: macOS and
// the BSDs. What they answer comes in through kernel, so that the rules below are tested on every
// system, answer by answer.
type tableSystem struct {
	kernel

	mu     sync.Mutex // guards what follows: facts that cannot change, once they are known
	start  Fact[Start]
	serial Fact[uint64]
	fixed  hostFacts
}

var _ System = (*tableSystem)(nil)

// kernel is what differs between these systems: system calls, and how to read their answers.
type kernel struct {
	os     string // as in Host.OS
	source string // of an entry, with a verb for the process number: "sysctl kern.proc.pid.%d"
	// entry returns the structure of one process, nothing when the table has none of that number.
	// errNoProcess says the same.
	entry  func(pid int) ([]byte, error)
	decode func([]byte) (kinfo, error)
	// kill is kill(pid, 0): nil when there is such a process, whoever owns it; errNoProcess.
	kill func(pid int) error
	// unique returns the process's number of this boot; nil where there is none.
	unique func(pid int) (uint64, error)
	// hides returns why a process may be there that is not shown; nil where none is ever hidden.
	hides func() error
	// boot returns the wall time of the boot, as the clock is set now.
	boot func() (kstart, error)
	rule startRule
	// threadNumbers: the number of a thread finds its process in the table
	threadNumbers bool
	facts         func() hostFacts
	filesystem    func(handle uintptr) Filesystem
}

// startRule says what the start in a process table means.
type startRule int

const (
	startMoves  startRule = iota // it moves with the clock: never evidence
	startFixed                   // wall time of the fork, never written again
	startOfBoot                  // only its distance from the boot is fixed
)

// hostFacts are the facts about a host that cannot change.
type hostFacts struct {
	release Fact[string]
	boot    Fact[string]
	machine Fact[string]
	legacy  string
	initial Fact[bool] // as Namespaces.PIDInitial
}

// Process implements System.
func (s *tableSystem) Process(pid int) Process {
	if pid <= 0 || pid > math.MaxInt32 { // kill(2) takes them for groups of processes
		p := unknownProcess(pid, errNumber)
		p.note("process number "+strconv.Itoa(pid), errNumber.Error())
		return p
	}
	p, settled := s.look(pid)
	if !settled { // the number changed hands meanwhile
		p, _ = s.look(pid)
	}
	return p
}

// look asks about pid once. settled is false when the answers may belong to two processes that had
// the number one after the other.
func (s *tableSystem) look(pid int) (p Process, settled bool) {
	source := fmt.Sprintf(s.source, pid)
	before := s.ownSerial(pid)
	k, start, err := s.read(pid)
	switch {
	case errors.Is(err, errNoProcess):
		p = unknownProcess(pid, errNoProcess)
		p.note(source, errNoProcess.Error())
		return p, s.confirmMissing(&p)
	case err != nil:
		p = unknownProcess(pid, fmt.Errorf("%s: %w", source, err))
		p.unread(source, err)
		return p, true
	case k.pid != pid && s.threadNumbers && k.pid > 0:
		p = unknownProcess(pid, fmt.Errorf("it is a thread of process %d", k.pid))
		p.becomeThread(k.pid, source)
		return p, true
	case k.pid != pid:
		err := fmt.Errorf("asked about process %d, answered about %d", pid, k.pid)
		p = unknownProcess(pid, err)
		p.unread(source, err)
		return p, true
	}
	p = unknownProcess(pid, nil)
	p.PIDFD = Unknown[uint64](source, errNoPIDFD)
	p.Presence = Running
	if k.exited {
		p.Presence = Exited
	}
	p.fill(k, source)
	p.Start = start
	p.note(source, k.words()+", start "+start.String())
	p.Serial = before
	after := s.ownSerial(pid)
	if before.Known != after.Known || before.Value != after.Value {
		// The structure is of one process, whichever. Whose the number of this boot is, is not
		// known.
		p.Serial = Unknown[uint64](before.Source, errors.New("it changed while it was read"))
		return p, false
	}
	return p, true
}

// errNoPIDFD is why there is no inode of a pidfd.
var errNoPIDFD = fmt.Errorf("pidfds are of Linux: %w", errors.ErrUnsupported)

// fill sets what one structure says.
func (p *Process) fill(k kinfo, source string) {
	p.Name = Known(k.comm, source)
	if k.state != "" {
		p.State = Known(k.state, source)
	} else {
		p.State = Unknown[string](source, fmt.Errorf("state %d is not a known one", k.number))
	}
	if k.threads >= 0 {
		p.Threads = Known(k.threads, source)
	} else {
		p.Threads = Unknown[int](source, fmt.Errorf("not in the process table: %w",
			errors.ErrUnsupported))
	}
	if k.start.known {
		p.StartedAt = Known(k.start.time().Truncate(time.Millisecond), source)
	} else {
		p.StartedAt = Unknown[time.Time](source, errNoStart)
	}
}

// errStartMoves is why a start is no fact.
var errStartMoves = fmt.Errorf("it is not known to stay the same when the clock is set: %w",
	errors.ErrUnsupported)

var errNoStart = errors.New("the process table gives it no start")

func (k kinfo) words() string {
	switch {
	case k.exited:
		return "has exited, not reaped yet"
	case k.state == "":
		return "in state " + strconv.Itoa(k.number)
	}
	return k.state
}

// read returns the entry of a process and its start. Where only the distance from the boot counts,
// the boot must read the same before and after: somebody may be setting the clock.
func (s *tableSystem) read(pid int) (kinfo, Fact[Start], error) {
	for range 3 {
		before, bootErr := s.bootOfStart()
		k, err := s.once(pid)
		if err != nil {
			return k, Fact[Start]{}, err
		}
		after, afterErr := s.bootOfStart()
		if bootErr = errors.Join(bootErr, afterErr); bootErr == nil && before != after {
			continue
		}
		return k, s.startOf(k, before, bootErr, fmt.Sprintf(s.source, pid)), nil
	}
	k, err := s.once(pid)
	return k, Unknown[Start](fmt.Sprintf(s.source, pid),
		errors.New("the clock is being set, and start values with it")), err
}

func (s *tableSystem) once(pid int) (kinfo, error) {
	b, err := s.entry(pid)
	if err != nil {
		return kinfo{}, err
	}
	if len(b) == 0 {
		return kinfo{}, errNoProcess
	}
	return s.decode(b)
}

// bootOfStart returns the boot that starts are counted from, where they are.
func (s *tableSystem) bootOfStart() (kstart, error) {
	if s.rule != startOfBoot {
		return kstart{}, nil
	}
	return s.boot()
}

// startOf makes a start value of an entry.
func (s *tableSystem) startOf(k kinfo, boot kstart, bootErr error, source string) Fact[Start] {
	switch {
	case s.rule == startMoves:
		return Unknown[Start](source, errStartMoves)
	case !k.start.known:
		return Unknown[Start](source, errNoStart)
	case s.rule == startFixed:
		return Known(Start(fmt.Sprintf("usec:%d.%06d", k.start.sec, k.start.usec)), source)
	case bootErr != nil:
		return Unknown[Start](source+", kern.boottime", bootErr)
	}
	since := (k.start.sec-boot.sec)*1e6 + k.start.usec - boot.usec
	if !boot.valid() || since < 0 {
		return Unknown[Start](source+", kern.boottime",
			errors.New("it lies before the boot"))
	}
	return Known(Start("uptime:"+strconv.FormatInt(since, 10)), source+", kern.boottime")
}

// ownSerial asks for the process's number of this boot.
func (s *tableSystem) ownSerial(pid int) Fact[uint64] {
	if s.unique == nil {
		return Unknown[uint64]("", errNoSerial)
	}
	source := "proc_info(" + strconv.Itoa(pid) + ", PROC_PIDUNIQIDENTIFIERINFO)"
	id, err := s.unique(pid)
	if err != nil {
		return Unknown[uint64](source, err)
	}
	return Known(id, source)
}

// confirmMissing asks a second time, in another way, before a process is called missing, and
// whether processes may be hidden from both.
func (s *tableSystem) confirmMissing(p *Process) (settled bool) {
	source := "kill(" + strconv.Itoa(p.PID) + ", 0)"
	switch err := s.kill(p.PID); {
	case err == nil:
		p.note(source, "a process has this number")
		return false // a new process, or one of the two answers is made up
	case !errors.Is(err, errNoProcess):
		p.unread(source, err)
		return true
	}
	p.note(source, errNoProcess.Error())
	if s.hides != nil {
		if err := s.hides(); err != nil {
			p.unread("visibility of processes", err)
			return true
		}
	}
	p.Presence = Missing
	return true
}

// Self implements System.
func (s *tableSystem) Self() Process {
	p := s.Process(os.Getpid())
	p.Presence = Running
	p.Readings = append([]Reading{{Source: "getpid()", Said: "this process"}}, p.Readings...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.start.Known {
		s.start = p.Start
	}
	if !s.serial.Known {
		s.serial = p.Serial
	}
	p.Start, p.Serial = s.start, s.serial // also when the table went away meanwhile
	return p
}

// Host implements System.
func (s *tableSystem) Host() Host {
	s.mu.Lock()
	if !s.fixed.boot.Known || !s.fixed.release.Known || !s.fixed.machine.Known {
		s.fixed = s.facts()
	}
	f := s.fixed
	s.mu.Unlock()
	none := fmt.Errorf("%s has no such namespaces: %w", s.os, errors.ErrUnsupported)
	h := Host{
		OS: s.os, Kernel: f.release, Boot: Boot{ID: f.boot, StartedAt: s.bootedAt()},
		Machine: Machine{ID: f.machine, Legacy: f.legacy, Host: hostName()},
		Namespaces: Namespaces{
			PID: Unknown[uint64]("", none), Time: Unknown[uint64]("", none),
			PIDInitial: f.initial,
		},
		ProcFS: Unknown[string]("", fmt.Errorf("not needed on %s: %w", s.os,
			errors.ErrUnsupported)),
	}
	return h
}

// bootedAt is the wall time of the boot as the clock is set now.
func (s *tableSystem) bootedAt() Fact[time.Time] {
	const source = "sysctl kern.boottime"
	boot, err := s.boot()
	if err == nil && !boot.valid() {
		err = errors.New("not a time")
	}
	if err != nil {
		return Unknown[time.Time](source, err)
	}
	return Known(boot.time().Truncate(time.Millisecond), source)
}

// Filesystem implements System.
func (s *tableSystem) Filesystem(handle uintptr) Filesystem { return s.filesystem(handle) }

// Openers implements System: only root could ask for the descriptors of everybody.
func (s *tableSystem) Openers(uintptr) Openers {
	return Openers{Incomplete: fmt.Errorf("who has a file open is not asked on %s: %w", s.os,
		errors.ErrUnsupported)}
}

// Nested implements System: a process has one number, also in a jail.
func (s *tableSystem) Nested(int) Nested { return Nested{} }
