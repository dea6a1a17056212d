// Package fence keeps numbers that never go back.
//
// A lock alone cannot stop a holder that was overtaken and does not know it yet: a process that was
// paused, put to sleep with its machine, or declared dead by a person. A number can. Every tenure
// gets a [Token], every takeover raises the [Counter], and whoever wants to change something
// presents its token at that very moment. A token below the counter is refused.
//
// # On the same machine
//
// [Counter.Guard] makes the check and the change one step: it takes the gate (the kernel lock of
// the counter's file), compares, runs the function, and lets the gate go. Raising needs the gate
// too, so no takeover can come between the check and the change.
//
//	counter, err := fence.Open("data/state.json.fence")
//	...
//	err = counter.Guard(ctx, token, func() error { return os.Rename(temp, name) })
//
// # For somebody else's database
//
// A store that compares and writes in one step needs no gate: keep the token beside the data, and
// let the statement refuse what is older.
//
//	res, err := db.Exec(`UPDATE job SET state = ?, fence = ? WHERE id = ? AND fence <= ?`,
//		state, token, id, token)
//
// No row changed means: overtaken. This holds across machines, as the database does the comparing.
//
// # Guaranteed
//
//   - The number never gets smaller and no number is reached twice: through crashes at any
//     instruction, and, once Raise has returned, through power cuts (as far as the disk does what
//     fsync says).
//   - At most one gate is held at a time, among all processes on one machine and all goroutines, on
//     filesystems that have kernel locks. A process that dies lets its gate go.
//   - A counter that is torn, empty or garbage is never read as 0. It is repaired from
//     Options.Floor by whoever takes the gate next, or is ErrDamaged where there is no such source.
//     That is so for counters of Open.
//   - Reading changes nothing, links are not followed, and a FIFO or device at the name is refused
//     without waiting.
//
// # Not guaranteed
//
//   - A process that is stopped inside the gate delays everybody until it goes on or dies. Keep
//     what is done inside short, and give Hold and Guard a context that ends.
//   - Who waits for the gate is not served in turn.
//   - A counter whose file was deleted starts at 0 again where nothing else knows the number: a
//     Counter of Open knows only what it has seen itself. Do not delete it.
//   - The gate is a kernel lock. On a filesystem that several machines share it excludes other
//     machines only if that filesystem says so truthfully. Without kernel locks Hold fails with an
//     error that matches errors.ErrUnsupported.
//   - A process that writes into the file without the gate, or replaces it, breaks all of this.
//     What can be noticed is: ErrGateLost, ErrDamaged.
//   - A call to Guard inside Guard waits for itself.
package fence
