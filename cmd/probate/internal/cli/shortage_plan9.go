package cli

import (
	"errors"
	"syscall"
)

// isShortage and isOutOfFiles: Plan 9 has a word for files only.
func isShortage(err error) bool   { return isOutOfFiles(err) }
func isOutOfFiles(err error) bool { return errors.Is(err, syscall.EMFILE) }
