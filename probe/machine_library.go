//go:build windows || freebsd || openbsd || netbsd || dragonfly

package probe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/denisbrodbeck/machineid"
)

// libraryMachine reads the machine id where package machineid knows the place: the registry of
// Windows (MachineGuid), /etc/hostid or the kernel environment on the BSDs. The library returns
// empty and meaningless texts without an error, so that validate decides what is one. Its errors
// can hold whole outputs of programs: only their first line is kept.
func libraryMachine(source string, validate func(text string) (string, error)) Machine {
	text, err := machineid.ID()
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return Machine{ID: Unknown[string](source, errors.New(first))}
	}
	m := Machine{Legacy: trimJavaScript(text)}
	id, err := validate(text)
	if err != nil {
		m.ID = Unknown[string](source, fmt.Errorf("%w: %w", ErrNotGenuine, err))
		return m
	}
	m.ID = Known(id, source)
	return m
}
