// Package lockfile gives a state on disk one writer at a time, says exactly who that writer is, and
// hands the lock on only when its owner is provably gone.
//
//	lock, err := lockfile.Acquire(ctx, "state.json", lockfile.Options{Label: "nightly import"})
//	if err != nil {
//		return err // who holds it, since when, and why it could not be taken over
//	}
//	defer lock.Release()
//	work(lock.Context()) // ends with cause ErrLost if the lock is lost
//	err = lock.WriteFile("state.json", data, 0o600) // atomic, durable, refused after a loss
//
// # What is guaranteed
//
// Among processes that use this package, at most one holds the lock of a state path at a time.
//
// A lock is taken over only when its owner is provably gone: the kernel lock on the very file of
// the record is free, on a local filesystem, or the kernel says that the process does not exist any
// more. Everything else is alive or unknown, and unknown is never taken over. Age, heartbeats, host
// names and the wall clock are never evidence. A stopped process, a sleeping machine and a process
// in a container are not gone.
//
// A holder that lost its lock, because a person broke it or a program in another language took it,
// cannot commit a write through Commit or the Write methods: check and commit are one step with
// respect to every takeover and break.
//
// Fence numbers never go back and never repeat across takeovers, through any crash.
//
// After a crash of an owner or of a recoverer at any instruction the next acquire recovers by
// itself, with a bounded number of files. After a power cut the same holds where the record was
// flushed, or can be shown to be orphaned; else a person decides, with Break.
//
// Looking (Inspect, List, ReadLog) never changes anything.
//
// # What is not
//
// On a filesystem that several kernels mount (NFS, SMB, 9p, virtiofs, FUSE) there is no more
// exclusion than what exclusive creation gives, and nobody is ever provably gone, unless
// Options.SharedFilesystem says that equal boots mean one machine.
//
// There is no protection from a program that ignores the lock, and none from a living record-v2
// program in another language whose lock a person breaks. Such programs do not know the gate: where
// recovery is switched on in one of them, a lock of ours can be taken away. Commits are refused
// from then on, and the breach is told (Options.OnBreach, ErrUnsure), but it cannot be prevented.
//
// A lock belongs to the directory that it was taken in, and goes with it: whoever renames that
// directory and makes another in its place finds a free lock at the old path. The Write methods
// refuse that path to the holder of the one before.
//
// Nothing is proven about a process on another machine. Virtual machines that were cloned while
// running share boot id and process numbers: they must not share a disk.
//
// A process that closes all its descriptors blindly gives up its kernel lock. As long as it exists
// it is still judged alive by its own kernel; from another pid namespace it is judged gone, and its
// commits are refused.
//
// A process that is stopped inside the gate (in the middle of a commit, release or takeover) delays
// everybody else. Waits for the gate are bounded (Options.GateWait) and name it.
//
// Options.FreshToken numbers live in S.fence alone: whoever deletes that file while no lock is held
// takes the memory of the ones away that were not followed by a takeover.
//
// # Files
//
// Beside a state S stand S.lock (the record, while the lock is held or its owner died), S.fence
// (the counter, and the gate; never removed), S.recovery.log and .1, short-lived S.lock.….tmp
// files, S.recovered-… for every takeover of late (at most 64; a takeover or a new process removes
// those that are over an hour old), and S.lock.broken-… where a person broke a record that could
// not be read. FORMAT.md has the bytes, DESIGN.md the reasons.
//
// # Linux
//
// Complete: open-file-description locks, RENAME_NOREPLACE and RENAME_EXCHANGE, pidfd.
//
// # macOS and the BSDs
//
// Kernel locks are flocks. macOS publishes and exchanges in one step like Linux; the BSDs publish
// by a link and have no exchange, so that a takeover leaves the name free for a moment, under the
// gate. On macOS and FreeBSD the process is evidence as well; on OpenBSD, NetBSD and DragonFly
// BSD, where a boot has no identity, only the kernel lock is. Torn records are for people. Nothing
// of this has been run on such a machine by its authors.
//
// # Windows
//
// The owner of a lock keeps its record open without sharing its removal, so that nobody else can
// rename or remove it, and programs that want to read it must share that (libuv does, os.Open does
// not). Break ends the tenure of a living owner only with the help of its process, see there. A
// Commit whose function renames files itself must flush them itself: directories cannot be flushed.
// Who owns a record is not judged: the access list of the directory decides who takes part.
package lockfile
