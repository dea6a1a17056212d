package probe

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// forkPage returns a page of memory whose first byte is 1 in this process and 0 in its forks, nil
// before Linux 4.14.
func forkPage() []byte {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil
	}
	if unix.Madvise(page, unix.MADV_WIPEONFORK) != nil {
		_ = unix.Munmap(page)
		return nil
	}
	page[0] = 1
	return page
}

// numbered is the process that was the first to ask for its number.
type numbered struct {
	pid  int
	page []byte
}

var firstNumbered = sync.OnceValue(func() numbered { return numbered{os.Getpid(), forkPage()} })

func ownPID() int {
	if n := firstNumbered(); n.page != nil && n.page[0] != 0 {
		return n.pid
	}
	return os.Getpid()
}
