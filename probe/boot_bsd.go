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

// factsWithoutBoot are the facts of a system that has nothing that names a boot: without, no
// process of a record is ever compared with one that is there, and only the kernel lock is
// evidence. The id of the machine is in the sysctl of that name.
func factsWithoutBoot(machine string) hostFacts {
	return hostFacts{
		release: kernelRelease(),
		boot:    Unknown[string]("", errNoBootID),
		machine: machineUUID(machine),
		legacy:  legacyMachineID(),
		initial: Unknown[bool]("", errNoBootID),
	}
}
