package probe

import (
	"errors"

	"golang.org/x/sys/unix"
)

// directory is a descriptor that names are opened against. The descriptors of this package do not
// go through os.File: a fact takes a few microseconds, and half of them would go into the poller.
type directory int

const noDirectory directory = -1

// openDir opens a directory only to look names up in it.
func (d directory) openDir(name string) (directory, error) {
	return d.open(name, unix.O_PATH|unix.O_DIRECTORY)
}

// openList opens a directory to list it.
func (d directory) openList(name string) (directory, error) {
	return d.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
}

func (d directory) open(name string, flags int) (directory, error) {
	for {
		fd, err := unix.Openat(int(d), name, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return directory(fd), err
		}
	}
}

func (d directory) close() {
	if d >= 0 {
		unix.Close(int(d))
	}
}

// read returns the whole text of a small file. buf saves an allocation where it is large enough.
func (d directory) read(name string, buf []byte) ([]byte, error) {
	// Not blocking: a FIFO in the place of a file must not hold anybody up.
	f, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.readAll(buf)
}

// maxText bounds what is read of any text file. The longest honest one is a status file with 65536
// supplementary groups.
const maxText = 1 << 20

var errTooLong = errors.New("longer than any file of its kind")

func (d directory) readAll(buf []byte) ([]byte, error) {
	if cap(buf) == 0 {
		buf = make([]byte, 0, 4096)
	}
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			if len(buf) >= maxText {
				return nil, errTooLong
			}
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(int(d), buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n <= 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}

// readLink returns where a symbolic link leads.
func (d directory) readLink(name string) (string, error) {
	var buf [256]byte
	for {
		n, err := unix.Readlinkat(int(d), name, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		return string(buf[:n]), nil
	}
}

// names lists a directory that was just opened with openList.
func (d directory) names() ([]string, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(int(d), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return names, err
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// fstatfs says which filesystem a descriptor is on.
func fstatfs(fd int) (unix.Statfs_t, error) {
	var st unix.Statfs_t
	for {
		if err := unix.Fstatfs(fd, &st); err != unix.EINTR {
			return st, err
		}
	}
}

// magic returns the filesystem number, which the architectures disagree about how to sign and size.
func magic(st unix.Statfs_t) uint32 { return uint32(st.Type) }

// vanished reports whether an error from below /proc says that the process, thread or descriptor is
// no longer there. It proves nothing by itself: hidepid answers the same.
func vanished(err error) bool { return err == unix.ENOENT || err == unix.ESRCH }
