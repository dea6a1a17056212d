package fence

import "strconv"

// Token is a fencing token: a number that stands for one tenure of whatever is guarded. A larger
// token was handed out later. Whoever presents a token that is smaller than the newest one has been
// overtaken, even if nobody told it yet, and must be refused.
//
// In text a token is a decimal number, in JSON a number.
type Token uint64

// Max is the largest token: 2^53 - 1, so that readers which keep all numbers as floating point
// (JSON in many languages) have every token exactly.
const Max Token = 1<<53 - 1

// String returns the token as a decimal number.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }
