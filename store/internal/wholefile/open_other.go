//go:build !unix && !windows

package wholefile

import "os"

func open(path string) (*os.File, error) { return os.Open(path) }
