// Package identity says who a process is, and whether it is provably gone.
//
// An Identity names one process exactly: the boot of its kernel, its number with the pid namespace
// that gives the number its meaning, and the kernel's own start value, which no clock step moves. A
// store keeps it beside what the process wrote; anybody on the same kernel can ask later whether
// that very process still exists:
//
//	me, err := identity.Current()
//	record.Writer = me // text and JSON, versioned
//	…
//	if f := identity.Judge(record.Writer); f.Verdict == identity.Gone { resume(record) }
//
// # Verdicts
//
// A verdict is alive, gone or unknown, and unknown is the zero value. Gone is only said with proof.
// What could not be read is neither equal nor different: not to anything, and not to itself. Age,
// heartbeats, host names, machine ids and the wall clock are never evidence.
//
// # What is guaranteed
//
// A process that exists, stopped and frozen ones included, is never judged gone by a reader of the
// same kernel, in any pid or time namespace, as any user, with /proc hidden, foreign or missing.
//
// # What is not
//
// After a restart, and from another machine, a stamp alone cannot be judged: two boots differ, and
// nothing in the stamp says whether they were of one machine. The answer is unknown, other-boot. A
// lock file can do better, see package lockfile: the kernel lock on its very file is evidence too.
// A process that was checkpointed and restored (CRIU) is another process. A virtual machine that
// was cloned while running shares boot id and process numbers with its twin: the two must not share
// a disk. On Linux without pidfd inodes (before 6.9, and on 32 bits) start values have steps of
// 10 ms, so that a number which is reused within one step is taken for the old process: judged
// alive, which is the safe side.
//
// Decide is the whole table of verdicts as a pure function, for lock files as well as for stamps.
package identity
