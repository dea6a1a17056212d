//go:build openbsd || netbsd || dragonfly

package probe

import (
	"errors"
	"fmt"
	"runtime"
)

// errNoBootID is why a boot has no identity. The time of the boot is none: it moves with the clock.
var errNoBootID = fmt.Errorf("boots have no identity on %s: %w", runtime.GOOS,
	errors.ErrUnsupported)
