package probe

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Filesystem implements System.
func (s *windowsSystem) Filesystem(handle uintptr) Filesystem {
	const source = "GetVolumeInformationByHandle()"
	h := windows.Handle(handle)
	var name [windows.MAX_PATH + 1]uint16
	var serial, longest, flags uint32
	if err := windows.GetVolumeInformationByHandle(h, nil, 0, &serial, &longest, &flags, &name[0],
		uint32(len(name))); err != nil {
		return Filesystem{Type: Unknown[string](source, err), ID: Unknown[string](source, err)}
	}
	fs := Filesystem{ID: volumeID(h, serial)}
	fsType := strings.ToLower(windows.UTF16ToString(name[:]))
	device, err := devicePath(h)
	switch protocol, remote := remoteProtocol(h); {
	case remote:
		// A share has the name of the filesystem on the other machine.
		fs.Type = Known(protocol, "GetFileInformationByHandleEx(FileRemoteProtocolInfo)")
	case err != nil:
		fs.Type = Known(fsType, source) // and not local: on what it lies is not known
	case !onDisk(device):
		fs.Type = Known(deviceName(device), "GetFinalPathNameByHandle()")
	default:
		fs.Type = Known(fsType, source)
		fs.Local = localWindowsFilesystems[fsType]
	}
	return fs
}

// volumeID is the volume's serial number: of 64 bits where the filesystem has one, of which the 32
// bits that programs usually show are the lower half.
func volumeID(h windows.Handle, serial uint32) Fact[string] {
	var info struct { // FILE_ID_INFO
		serial uint64
		file   [16]byte
	}
	err := windows.GetFileInformationByHandleEx(h, windows.FileIdInfo,
		(*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	switch {
	case err == nil && info.serial != 0:
		return Known(fmt.Sprintf("vol:%016x", info.serial),
			"GetFileInformationByHandleEx(FileIdInfo)")
	case serial != 0:
		return Known(fmt.Sprintf("vol:%08x", serial), "GetVolumeInformationByHandle()")
	default:
		return Unknown[string]("GetVolumeInformationByHandle()",
			errors.New("the volume has no serial number"))
	}
}

// remoteProtocol says over which protocol a file is reached, when it is remote. The call fails for
// local files, and where it is not implemented: whether a file is local is decided by its device.
func remoteProtocol(h windows.Handle) (string, bool) {
	var info [116]byte // FILE_REMOTE_PROTOCOL_INFO
	if err := windows.GetFileInformationByHandleEx(h, windows.FileRemoteProtocolInfo, &info[0],
		uint32(len(info))); err != nil {
		return "", false
	}
	return parseRemoteProtocol(info[:]), true
}

// devicePath is the path of a file below its device, such as \Device\HarddiskVolume3\Users.
func devicePath(h windows.Handle) (string, error) {
	const volumeNameNT = 2 // VOLUME_NAME_NT
	for size := uint32(512); size <= windows.MAX_LONG_PATH*2; {
		buf := make([]uint16, size)
		n, err := windows.GetFinalPathNameByHandle(h, &buf[0], size, volumeNameNT)
		if err != nil {
			return "", err
		}
		if n < size {
			return windows.UTF16ToString(buf[:n]), nil
		}
		size = n + 1
	}
	return "", errors.New("longer than any path")
}
