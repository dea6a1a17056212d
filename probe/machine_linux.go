package probe

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// machineIDFiles are where the machine id is, in order. The second is older than systemd.
var machineIDFiles = []string{"/etc/machine-id", "/var/lib/dbus/machine-id"}

// machine reads the machine id: the first valid one, and beside it the text that programs in other
// languages put into their records, which is the first that can be read, be it empty or nonsense.
func machine(files []string) Machine {
	var m Machine
	var problem error
	legacy := false
	for _, file := range files {
		text, err := directory(unix.AT_FDCWD).read(file, nil)
		if err == nil && !legacy {
			legacy = true
			m.Legacy = trimJavaScript(string(text))
		}
		if err == nil && !m.ID.Known {
			var id string
			if id, err = parseMachineID(string(text)); err == nil {
				m.ID = Known(id, file)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
			if problem == nil {
				problem = err
			} else {
				problem = fmt.Errorf("%w; %w", problem, err)
			}
		}
	}
	if !m.ID.Known {
		m.ID = Unknown[string](strings.Join(files, ", "), problem)
	}
	return m
}
