//go:build !linux

package probe

import "os"

func ownPID() int { return os.Getpid() }
