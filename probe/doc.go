// Package probe says what the operating system knows about processes, the running kernel, the
// machine and a filesystem: facts, with their sources, and no opinion. Whether a process is gone is
// decided elsewhere, from these facts.
//
// # What is guaranteed
//
// A fact is known or it is unknown with a reason; a zero, an empty string and a value that merely
// could not be read are never passed off as an answer. Nothing is read from the output of another
// program, nothing depends on the locale, the time zone or an environment variable, no child
// process is started, and no signal is ever sent (signal 0, which is only a question, excepted).
//
// [Missing] is said only when the kernel itself said that it knows no such process, [Exited] only
// when no thread of the process runs any more. A process that belongs to somebody else, is stopped,
// traced or frozen, or whose first thread has ended while others go on, is [Running]. A /proc that
// hides something, that is missing, or that describes another pid namespace can make facts unknown,
// and never makes a process missing.
//
// # What is not
//
// All of it is true of one moment only. A process number means something only inside its pid
// namespace, a start value only inside its time namespace, and both only under one kernel: whoever
// compares facts of two processes has to compare those first, see [Namespaces] and [Boot].
//
// Wall times ([Process.StartedAt], [Boot.StartedAt]) move with every step of the clock.
//
// Names and host names are bytes that somebody else chose: quote them before they reach a terminal.
//
// # Linux
//
// Presence comes from pidfd_open(2) and poll(2), which need no privilege and see through hidepid.
// Only where the kernel is older than 5.3 or a seccomp filter forbids them, kill(pid, 0) and /proc
// answer together. Start values are read only from a /proc that was checked to be procfs of this
// process's own pid namespace, through one open directory, so that they belong to the very process
// that was judged.
//
// A boot id is genuine only when the file is procfs and nothing else is mounted over it: container
// managers replace it. gVisor makes up another for every /proc that is mounted.
//
// A kernel without time or pid namespaces has no number for them: the fact is unknown and its error
// is [errors.ErrUnsupported]. Kernels 5.6 to 5.10 are said to have time namespaces without shifting
// start values in them.
//
// The facts that are read once (own start, boot id, machine id, namespaces) would be stale in a
// process that is frozen to disk and restored under another kernel.
//
// # Other systems
//
// Everything but the process number, the operating system and the host name is unknown, with
// [errors.ErrUnsupported] as the reason.
package probe
