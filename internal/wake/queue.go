package wake

// Position says how many are before a place.
type Position struct {
	Ahead int // 0, 1, or 2 for two or more
	// First is a number that grows with the arrival of the first in the queue, Mine that of this
	// place: what is between them is what is still to be waited for. Only with Ahead == 2.
	First, Mine int64
}
