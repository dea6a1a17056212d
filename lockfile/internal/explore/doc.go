// Package explore runs the real protocol code of lockfile under every schedule.
//
// A scenario has a few processes. They are goroutines of which exactly one runs at a time; every
// file operation, every question about another process and every pause is a point at which another
// one may go on, or any one be killed: then its kernel locks and descriptors are gone, no process
// has its number any more, and a new process starts in its place. The schedules are walked depth
// first, up to a number of preemptions (switches away from a process that could have gone on) and
// of crashes. A state that was met before, with at least as many preemptions left, is not entered
// again. What two states must agree in to be one: everything on the disk, everything that each
// process has learnt so far (its code is a function of that), who runs, who waits, who is dead, and
// what the checks remember. A process that was told that it has the lock, or that it has written,
// has forgotten how it came so far (see Proc.forget).
//
// Preemptions are spared before steps that have nothing to do with what others can do then (see
// reach.go), and kills where nobody can tell them from others (see matters). TestNothingIsLost
// compares all of that with plain search.
//
// The code runs once for everything that a process can have learnt, in a schedule that is played
// from its start, and what it does is put on a tape. Schedules are walked on copies of the world in
// which no code runs, but what is on the tape is done again (see tape). Each play is compared with
// the walk at every choice, and with the tape at every step.
//
// After every step the invariants of the protocol are checked (see Monitor). A schedule that breaks
// one is told as a numbered story, with a seed that plays it again.
//
// What is left out: several threads inside one process but those that the lock itself starts (what
// it does later begins at any moment, and is then done in one go, as no other process can notice
// it; where one could, in the scenarios in which opening and closing is seen, it is not done); torn
// reads of a write that is under way; and operations that nobody else can notice (on a file without
// a name, closing a file that carries no lock) are no points at which something else happens.
package explore
