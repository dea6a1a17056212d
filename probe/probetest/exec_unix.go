//go:build unix

package probetest

import (
	"os"
	"syscall"
)

// Exec replaces the child's program by the test binary again, running another registered function.
// Process number, start and pipes stay the same. Lines that the parent sent before may be lost.
func (p *Peer) Exec(name string, args ...string) {
	program, err := self()
	if err == nil {
		err = syscall.Exec(program, append([]string{os.Args[0]}, args...),
			append(os.Environ(), childEnv+"="+name))
	}
	p.Fatalf("exec: %v", err)
}
