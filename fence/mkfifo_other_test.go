//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fence

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
