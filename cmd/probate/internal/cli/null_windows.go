package cli

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var ntQueryVolumeInformationFile = ntdll.NewProc("NtQueryVolumeInformationFile")

// isNullDevice reports whether f is NUL, by the type of its device: NtQueryVolumeInformationFile
// with FileFsDeviceInformation (4), FILE_FS_DEVICE_INFORMATION and FILE_DEVICE_NULL of wdm.h. A
// standard stream that is closed cannot be read at all.
func isNullDevice(f *os.File) bool {
	const fileFsDeviceInformation, fileDeviceNull = 4, 0x15
	var status windows.IO_STATUS_BLOCK
	var device struct{ Type, Characteristics uint32 }
	if ntQueryVolumeInformationFile.Find() != nil {
		return false
	}
	failed, _, _ := ntQueryVolumeInformationFile.Call(f.Fd(), uintptr(unsafe.Pointer(&status)),
		uintptr(unsafe.Pointer(&device)), unsafe.Sizeof(device), fileFsDeviceInformation)
	return failed == 0 && device.Type == fileDeviceNull
}
