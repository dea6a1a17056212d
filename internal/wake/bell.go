package wake

// Woken says why a wait at a Bell ended.
type Woken int

const (
	TimeIsUp Woken = iota // nothing happened, or the context ended
	Rung                  // something happened to the file
	Ended                 // the process ended
)
