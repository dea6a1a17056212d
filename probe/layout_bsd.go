//go:build freebsd || openbsd || netbsd || dragonfly

package probe

import (
	"errors"
	"fmt"
	"strconv"
)

// errLayout is why nothing of the process table is known in 32-bit programs.
var errLayout = fmt.Errorf("the layout of the process table is known for 64-bit programs only: %w",
	errors.ErrUnsupported)

// sysctlEntry64 is sysctlEntry where the layout is known for 64-bit programs only.
func sysctlEntry64(name string, args ...int) ([]byte, error) {
	if strconv.IntSize < 64 {
		return nil, errLayout
	}
	return sysctlEntry(name, args...)
}
