package probe

import "fmt"

// Stand is what a record says of the process that writes it. It is shared: nobody changes it.
type Stand struct {
	Host Host
	Self Process
}

// standing is what a System has that can describe its own process at little cost.
type standing interface {
	standing() *Stand
	same(was *Process) Fact[bool]
}

// Standing returns what a record says of the process that writes it. It is Host and Self without
// what is not needed for that: whether /proc can be trusted, state, threads, name and readings.
// Facts that cannot change are read once in the life of a process; a fork and a copy that was
// restored from a checkpoint begin anew. Host name and wall times are those of now. As long as
// nothing has changed it may be the same Stand again.
func Standing(s System) *Stand {
	if s, ok := s.(standing); ok {
		return s.standing()
	}
	return &Stand{s.Host(), s.Self()}
}

// PID returns the number of the calling process, as os.Getpid, on Linux without asking the kernel
// every time: a fork is told by a page of memory that the kernel clears in it (MADV_WIPEONFORK).
func PID() int { return ownPID() }

// Same reports whether the calling process is the one that was, of an earlier Self or Standing,
// describes, and neither a fork of it nor a copy that was restored from a checkpoint. It is unknown
// where nothing that could be read says so.
//
// # Linux
//
// A page that the kernel clears in a fork (MADV_WIPEONFORK, Linux 4.14) and the inode of the
// process's own pidfd, which is kept open: one fstat(2). A restored copy has another inode, as it
// is another process to the kernel. Before Linux 6.9, where pidfds have no inodes of their own, the
// start value in /proc/self/stat is read.
func Same(s System, was *Process) Fact[bool] {
	if s, ok := s.(standing); ok {
		return s.same(was)
	}
	return sameStart(was.Start, s.Process(was.PID).Start)
}

func sameStart(was, now Fact[Start]) Fact[bool] {
	switch {
	case !was.Known:
		return Unknown[bool](was.Source, was.Err)
	case !now.Known:
		return Unknown[bool](now.Source, now.Err)
	case was.Value.Kind() != now.Value.Kind():
		return Unknown[bool](now.Source, fmt.Errorf("%s and %s cannot be compared",
			was.Value, now.Value))
	}
	return Known(was.Value == now.Value, now.Source)
}
