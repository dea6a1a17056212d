package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FileTime returns the Windows start value of a creation time, in units of 100 ns since 1601.
func FileTime(n uint64) Start { return Start("filetime:" + strconv.FormatUint(n, 10)) }

// fileTimeEpoch is the Unix epoch as a FILETIME.
const fileTimeEpoch = 116444736000000000

// wallTime converts a FILETIME. Zero is what the kernel says of what has no time, and what is
// beyond 63 bits it takes for no time either.
func wallTime(filetime uint64) (time.Time, error) {
	if filetime == 0 || filetime > math.MaxInt64 {
		return time.Time{}, errors.New("not a time")
	}
	since := int64(filetime) - fileTimeEpoch
	sec, rest := since/1e7, since%1e7
	return time.Unix(sec, rest*100), nil
}

// fileTimeOf returns the FILETIME in a start value.
func fileTimeOf(s Start) (uint64, bool) {
	digits, ok := strings.CutPrefix(string(s), "filetime:")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// ntTimeOfDaySize is the size of SYSTEM_TIMEOFDAY_INFORMATION, the same on every processor.
const ntTimeOfDaySize = 48

// parseNTBoot makes the identity of the boot of SYSTEM_TIMEOFDAY_INFORMATION: BootTime (0) is when
// the kernel started by the clock as it is set now, CurrentTime (8) that clock, BootTimeBias (32)
// by how much all settings of the clock since have moved both (all 100 ns). BootTime without the
// bias is what the clock said when the kernel started, which stays the same until it starts anew.
func parseNTBoot(b []byte) (id string, err error) {
	if len(b) < ntTimeOfDaySize {
		return "", fmt.Errorf("%w: %d bytes of %d", ErrNotGenuine, len(b), ntTimeOfDaySize)
	}
	boot := int64(binary.LittleEndian.Uint64(b))
	now := int64(binary.LittleEndian.Uint64(b[8:]))
	bias := int64(binary.LittleEndian.Uint64(b[32:])) // goes below zero when the clock is set back
	switch {
	case boot <= 0:
		return "", fmt.Errorf("%w: there is no boot time", ErrNotGenuine)
	case now < boot:
		return "", fmt.Errorf("%w: the boot time lies in the future", ErrNotGenuine)
	}
	first := boot - bias
	if first <= 0 { // what overflows is below zero too
		return "", fmt.Errorf("%w: boot time %d with bias %d", ErrNotGenuine, boot, bias)
	}
	return "boottime:" + strconv.FormatInt(first, 10), nil
}
