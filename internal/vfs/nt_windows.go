package vfs

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The files of a directory are opened, renamed and removed with the calls below the Win32 ones:
// relative to the open directory, so that neither a device name nor the length of the path nor what
// happens to the directory's own name matters, and with an answer that tells a sharing violation, a
// deletion under way and a missing right apart, which Win32 calls "access denied" alike.

const (
	shareAll  = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	shareNone = 0

	// Every handle is synchronous, so that no call is ever left pending, and stands for a link
	// itself, never for what it leads to.
	openOptions = windows.FILE_SYNCHRONOUS_IO_NONALERT | windows.FILE_OPEN_REPARSE_POINT |
		windows.FILE_OPEN_FOR_BACKUP_INTENT
)

// ntOpen opens name in the directory, or with an empty name what dir itself stands for once more.
// The handle is not inherited by children.
func ntOpen(dir windows.Handle, name string, access, share, disposition uint32,
) (windows.Handle, error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{
		Length:        uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})),
		RootDirectory: dir,
		ObjectName:    text,
		Attributes:    windows.OBJ_CASE_INSENSITIVE,
	}
	var h windows.Handle
	var io windows.IO_STATUS_BLOCK
	err = ntError(windows.NtCreateFile(&h, access|windows.SYNCHRONIZE, &attributes, &io, nil,
		windows.FILE_ATTRIBUTE_NORMAL, share, disposition, openOptions, 0, 0))
	if err != nil {
		return windows.InvalidHandle, err
	}
	return h, nil
}

// ntSet sets one class of information of an open file.
func ntSet[T any](h windows.Handle, class uint32, information *T) error {
	var io windows.IO_STATUS_BLOCK
	return ntError(windows.NtSetInformationFile(h, &io, (*byte)(unsafe.Pointer(information)),
		uint32(unsafe.Sizeof(*information)), class))
}

// Since Windows 10 1607; x/sys does not have it.
const fileRenameInformationEx = 65

// renameInformation is FILE_RENAME_INFORMATION, its form with flags, and FILE_LINK_INFORMATION:
// one layout for all of them.
type renameInformation struct {
	flags  uint32 // or, in the older ones, a byte: replace what exists
	dir    windows.Handle
	length uint32 // of the name in bytes
	name   [windows.MAX_PATH]uint16
}

func newRenameInformation(dir windows.Handle, name string) (*renameInformation, error) {
	text, err := windows.UTF16FromString(name)
	if err != nil {
		return nil, err
	}
	r := &renameInformation{dir: dir, length: 2 * uint32(len(text)-1)}
	if len(text) > len(r.name) {
		return nil, windows.ERROR_FILENAME_EXCED_RANGE
	}
	copy(r.name[:], text)
	return r, nil
}

// ntRename renames an open file within dir, in one step. Where the system can (Windows 10 1607 and
// NTFS), what is replaced may be open elsewhere with delete sharing.
func ntRename(h, dir windows.Handle, name string, replace bool) error {
	r, err := newRenameInformation(dir, name)
	if err != nil {
		return err
	}
	r.flags = windows.FILE_RENAME_POSIX_SEMANTICS | windows.FILE_RENAME_IGNORE_READONLY_ATTRIBUTE
	if replace {
		r.flags |= windows.FILE_RENAME_REPLACE_IF_EXISTS
	}
	err = ntSet(h, fileRenameInformationEx, r)
	if !noSuchCall(err) {
		return err
	}
	if r.flags = 0; replace {
		r.flags = 1
	}
	err = ntSet(h, windows.FileRenameInformation, r)
	if !noSuchCall(err) {
		return err
	}
	r.dir = 0 // a plain name without a directory stays in the file's own: what some servers want
	return ntSet(h, windows.FileRenameInformation, r)
}

func ntLink(h, dir windows.Handle, name string) error {
	r, err := newRenameInformation(dir, name)
	if err != nil {
		return err
	}
	err = ntSet(h, windows.FileLinkInformation, r)
	if noSuchCall(err) {
		errno, _ := errors.AsType[syscall.Errno](err)
		return unsupported(errno, "no hard links here")
	}
	return err
}

// ntDelete removes the name of an open file. With POSIX semantics (Windows 10 1607 and NTFS) it is
// gone as soon as this handle is closed; elsewhere only when everybody has closed the file, and
// aside is called before, to give it a name that is in nobody's way meanwhile.
func ntDelete(h windows.Handle, aside func() error) error {
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS |
		windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE)
	err := ntSet(h, windows.FileDispositionInformationEx, &flags)
	if noSuchCall(err) {
		flags &^= windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE // since 1809
		err = ntSet(h, windows.FileDispositionInformationEx, &flags)
	}
	if !noSuchCall(err) {
		return err
	}
	if err := aside(); err != nil {
		return err
	}
	yes := byte(1)
	return ntSet(h, windows.FileDispositionInformation, &yes)
}

// noSuchCall reports whether a system or filesystem does not know what it was asked for.
func noSuchCall(err error) bool {
	e, ok := err.(*statusError)
	if !ok {
		return false
	}
	switch e.status {
	case windows.STATUS_INVALID_INFO_CLASS, windows.STATUS_NOT_IMPLEMENTED,
		windows.STATUS_NOT_SUPPORTED, windows.STATUS_INVALID_DEVICE_REQUEST,
		windows.STATUS_INVALID_PARAMETER:
		return true
	}
	return false
}

// statusError is the answer of a call below Win32.
type statusError struct{ status windows.NTStatus }

func ntError(err error) error {
	if status, ok := err.(windows.NTStatus); ok {
		return &statusError{status}
	}
	return err
}

func (e *statusError) inUse() bool {
	switch e.status {
	case windows.STATUS_SHARING_VIOLATION, windows.STATUS_DELETE_PENDING:
		return true
	}
	return false
}

func (e *statusError) Error() string {
	switch e.status {
	case windows.STATUS_SHARING_VIOLATION:
		return "another program has it open and does not share it"
	case windows.STATUS_DELETE_PENDING:
		return "it was deleted, and stays until the last program that has it open closes it"
	case windows.STATUS_CANNOT_DELETE:
		return "it cannot be deleted: it is read-only, or a program that runs"
	}
	return e.status.Errno().Error()
}

// Is lets a deletion under way, which Win32 calls "access denied", be no question of rights.
func (e *statusError) Is(target error) bool {
	if e.inUse() {
		return target == ErrInUse || target == error(e.status) || target == error(e.status.Errno())
	}
	return target == error(e.status) || e.status.Errno().Is(target)
}

func (e *statusError) As(target any) bool {
	if p, ok := target.(*syscall.Errno); ok {
		*p = e.status.Errno()
		return true
	}
	return false
}

// The handles of others that look, scan or take out are open for moments. What only waits for such
// a moment is tried so often, with pauses that grow from the first to the longest: about half a
// second in all.
const (
	tries        = 36
	firstPause   = 100 * time.Microsecond
	longestPause = 16 * time.Millisecond
)

// waitOut repeats a call that fails because others have the file open, a bounded number of times.
func waitOut(inTheWay func(error) bool, call func() error) error {
	pause := firstPause
	for range tries {
		if err := call(); err == nil || !inTheWay(err) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, longestPause)
	}
	return call()
}

func inUse(err error) bool { return errors.Is(err, ErrInUse) }

// inUseOrDenied is for replacing a name: where POSIX semantics are missing, "access denied" is what
// the system says of a file that somebody has open.
func inUseOrDenied(err error) bool {
	return inUse(err) || errors.Is(err, windows.STATUS_ACCESS_DENIED)
}
