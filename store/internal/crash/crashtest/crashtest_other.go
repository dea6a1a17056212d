//go:build (!linux || !(amd64 || arm64)) && !plan9

package crashtest

import (
	"errors"
	"syscall"
)

// Supported says whether processes can be made to crash and fail here.
const Supported = false

// Fail makes calls of this process fail.
func Fail(string, syscall.Errno) error { return errors.ErrUnsupported }

// KillAt kills this process before its n-th step.
func KillAt(int) (func() int, error) { return nil, errors.ErrUnsupported }

// Count counts system calls of this process.
func Count(string) (func() int, error) { return nil, errors.ErrUnsupported }
