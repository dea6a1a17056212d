package probe

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// fileProcessIDs is FileProcessIdsUsingFileInformation of ntifs.h.
const fileProcessIDs = 47

// errOpeners: which handle of this process the answer counts is not said, and neither is whether
// every filesystem counts all. It is for people; a proof is an open without sharing.
var errOpeners = errors.New("windows does not say whether these are all")

// Openers implements System. The answer names processes for people and is never complete.
func (s *windowsSystem) Openers(handle uintptr) Openers {
	for size := 4 << 10; ; size *= 4 {
		buf := make([]byte, size)
		var status windows.IO_STATUS_BLOCK
		err := windows.NtQueryInformationFile(windows.Handle(handle), &status, &buf[0],
			uint32(size), fileProcessIDs)
		switch {
		case (err == windows.STATUS_INFO_LENGTH_MISMATCH || err == windows.STATUS_BUFFER_OVERFLOW ||
			err == windows.STATUS_BUFFER_TOO_SMALL) && size < 4<<20:
			continue
		case err != nil:
			return Openers{Incomplete: fmt.Errorf("FileProcessIdsUsingFileInformation: %w", err)}
		}
		n := min(int(status.Information), size)
		return s.named(buf[:n])
	}
}

func (s *windowsSystem) named(answer []byte) Openers {
	ids, err := parseNTProcessIDs(answer, ntHere)
	if err != nil {
		return Openers{Incomplete: err}
	}
	found := Openers{Incomplete: errOpeners}
	for _, id := range ids {
		if id == uint64(os.Getpid()) || id == 0 || id > math.MaxInt32 {
			continue
		}
		o := Opener{PID: int(id)}
		if h, err := s.openProcess(o.PID); err == nil {
			o.Name = imageName(h).Value
			h.close()
		}
		found.Found = append(found.Found, o)
	}
	return found
}
