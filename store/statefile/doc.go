// Package statefile keeps one value in one file, with one writer at a time.
//
//	settings := statefile.Open[Settings]("settings.json", statefile.Options{})
//	now, err := settings.Update(ctx, func(s Settings) (Settings, error) {
//		s.Runs++
//		return s, nil
//	})
//
// The file holds what the codec makes of the value and nothing else, JSON unless another codec is
// given: people can read and edit it, and record-v2 programs in other languages share it.
//
// # What is guaranteed
//
// No update is lost: among all who use this package, or the lock of package lockfile on the same
// path, one at a time reads, changes and writes. A writer that was killed at any instruction keeps
// nobody out: its lock is taken over by proof, without any waiting for time to pass. A writer that
// is stopped, however long, keeps its lock.
//
// Load waits for nobody, and sees one whole version: the one before an update or the one after it.
//
// A write is durable before Update returns, and the version that it replaced stays as
// NAME.previous. A writer that lost its lock meanwhile, because a person broke it or a program in
// another language took it, changes neither (ErrFenced, ErrLost).
//
// A file that the codec cannot read is ErrCorrupt. It is named, together with the previous version
// where that can be read, and never overwritten: neither by Update nor by Save. Restore puts the
// previous version back and keeps the damaged file beside it.
//
// When the function given to Update returns an error, panics, or ends its goroutine, nothing is
// changed, and the lock is free. An update inside an update of the same file is ErrReentrant.
//
// # What is not
//
// Programs that write the file without the lock, editors among them, can overwrite an update that
// they did not see, and be overwritten between their read and their write. Those that write in
// place can be seen half-way: Load then says ErrCorrupt, and the whole file the next time.
//
// JSON keeps what T has fields for: what else stands in the file is dropped by the next update.
//
// An update that another goroutine starts, and the function of the outer update waits for, is not
// recognized as one inside the other: it waits until its context ends.
//
// After a crash in the midst of a write NAME.previous can be one version older than it should be,
// or missing while there are but two.
//
// What package lockfile does not guarantee is not guaranteed here, filesystems that several
// machines mount above all.
//
// # Files
//
// NAME has the value; NAME.previous the version before; NAME.damaged-… what Restore replaced.
// NAME.lock, .fence and .recovery.log are those of package lockfile.
package statefile
