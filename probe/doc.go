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
// that was judged. What was found out about a mount is true of it as long as it exists: a [Sight]
// knows it again by its number, where the kernel gives no number twice (Linux 6.8).
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
// # macOS
//
// Presence, state and start come from the process table (sysctl kern.proc.pid), which shows every
// process to everybody, zombies included. A number that is not in it is missing when kill(pid, 0)
// says so as well. p_starttime is the wall time of the fork and is never written again, whatever
// happens to the clock. p_uniqueid, the exact serial number, needs a system call that Apple does
// not promise to keep; where it fails, the start decides. Start and serial number that contradict
// each other prove nothing.
//
// The boot id is kern.bootsessionuuid, the machine id is that of gethostuuid(2), which is
// IOPlatformUUID. A filesystem is local when the kernel mounts it as local (MNT_LOCAL) and its type
// is known to be. Who has a file open is not asked: only root could know.
//
// # FreeBSD, OpenBSD, NetBSD, DragonFly BSD
//
// The process table of 64-bit programs, as on macOS. Start values of OpenBSD move with the clock
// and those of DragonFly BSD may: there are none. Those of FreeBSD are counted from the boot. Only
// FreeBSD has boot ids (since 13); without, no verdict ever rests on a process. FreeBSD hides
// processes in jails and by policy: a number is missing only where all settings that do so are
// known to be off. The machine id is that of /etc/hostid, else of the hardware.
//
// Nothing of this and the section before has been run on such a machine where it was written: the
// decoders are tested with constructed bytes.
//
// # Windows
//
// A process is judged through a handle, which keeps its number from being given out again:
// opened with the rights to query and to wait, checked to be one of that very number (the kernel
// opens a process for the three numbers behind its own too, so that only multiples of 4 are
// asked about), and waited for with no time. The exit code is never looked at. [Missing] is said
// when the kernel finds no process of that number and the process list has none either. A
// process that may not be opened is looked up in that list, which needs no rights; one that has
// exited is not on it, and then nothing is said. A process that has exited is kept, as [Exited],
// while somebody has a handle on it.
//
// Start values are creation times, which the kernel notes once. Suspended processes are
// [Running] and their state is "stopped", where the process list tells what threads do (Wine's
// does not).
//
// The boot id is the time of the boot by the clock as it was set then: the kernel's boot time
// less what all settings of the clock have moved it by since, which is the same number in every
// process until the kernel starts anew. Fast startup and hibernation resume the same kernel. The
// registry's and the loader's numbers are no ids: they are absent, or count from an image that
// is cloned. In a Windows container, which hides the processes outside, the boot id is not
// genuine.
//
// A filesystem is local when the device of the volume is a disk and its type is on a list;
// volumes of programs (WinFsp, Dokan), shares and cluster volumes are not. Who has a file open
// is said for people, and never as if it were complete.
//
// Processes of two Wine prefixes do not see one another, nor each other's file locks, and each
// prefix has a boot of its own: do not share locks between prefixes.
//
// # Other systems
//
// Everything but the process number, the operating system and the host name is unknown, with
// [errors.ErrUnsupported] as the reason.
package probe
