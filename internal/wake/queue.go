package wake

// Queue is a place in the queue for a name in a directory. Places are kept by the kernel and vanish
// with their process. They are taken in the order of arrival, and only that: whoever ignores the
// queue does no harm. On systems without a queue everybody is first.
//
// # Linux
//
// A place is a read lock of an open file description, on one byte far behind anything, of the
// directory itself: the place of the byte is the time of arrival. Nobody can take a write lock on a
// directory, so such a lock is in nobody's way, and the kernel says who is before it.
type Queue struct {
	dir    uintptr
	base   int64
	ticket int64
}

// Position says how many are before a place.
type Position struct {
	Ahead int // 0, 1, or 2 for two or more
	// First is a number that grows with the arrival of the first in the queue, Mine that of this
	// place: what is between them is what is still to be waited for. Only with Ahead == 2.
	First, Mine int64
}
