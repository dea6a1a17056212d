//go:build freebsd || openbsd || netbsd || dragonfly

package probe

import (
	"errors"
	"fmt"
	"os"
)

// hostIDFile is where rc(8) keeps the id of a FreeBSD machine. Without it machineid would start
// kenv(1), and nothing here comes out of another program.
const hostIDFile = "/etc/hostid"

// machineUUID reads the id of the machine: from the file, else from the sysctl of that name.
func machineUUID(sysctl string) Fact[string] {
	var file Fact[string]
	if _, err := readSmall(hostIDFile); err != nil {
		file = Unknown[string](hostIDFile, err)
	} else if file = libraryMachine(hostIDFile, parseUUID).ID; file.Known {
		return file
	}
	f := sysctlUUID(sysctl)
	if !f.Known {
		f = Unknown[string](file.Source+", "+f.Source, fmt.Errorf("%s: %w; %s: %w", file.Source,
			file.Err, f.Source, f.Err))
	}
	return f
}

// legacyMachineID is what programs in other languages take for the machine id: the first of the
// usual files of Linux that can be read, be it empty, else nothing.
func legacyMachineID() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := readSmall(file); err == nil {
			return trimJavaScript(string(text))
		}
	}
	return ""
}

var errNotSmall = errors.New("not a regular file of at most 4096 bytes")

func readSmall(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return nil, errNotSmall
	}
	return os.ReadFile(file)
}
