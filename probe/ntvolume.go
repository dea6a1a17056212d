package probe

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// localWindowsFilesystems are the ones of which a mounted volume belongs to one kernel. CSVFS,
// which the machines of a cluster share, is not.
var localWindowsFilesystems = set("ntfs", "refs", "fat", "fat32", "exfat", "udf", "cdfs")

// diskDevices begin the names of devices that are volumes on disks. Any program can mount a volume
// that calls itself NTFS and passes everything on to another machine (WinFsp, Dokan, the shares of
// virtual machines): those have other devices, or go through the redirector (\Device\Mup).
var diskDevices = []string{
	`\device\harddiskvolume`, `\device\harddiskdmvolumes\`, `\device\cdrom`, `\device\floppy`,
}

// onDisk reports whether a path as GetFinalPathNameByHandle gives it lies on a disk.
func onDisk(device string) bool {
	device = strings.ToLower(device)
	for _, prefix := range diskDevices {
		rest, ok := strings.CutPrefix(device, prefix)
		if !ok {
			continue
		}
		if strings.HasSuffix(prefix, `\`) {
			return rest != ""
		}
		number, _, _ := strings.Cut(rest, `\`)
		return allDigits(number)
	}
	return false
}

// deviceName is the device in such a path: "mup" of \Device\Mup\server\share.
func deviceName(device string) string {
	parts := strings.Split(strings.ToLower(device), `\`)
	if len(parts) < 3 || parts[0] != "" || parts[1] != "device" || parts[2] == "" {
		return "unknown"
	}
	return parts[2]
}

// parseRemoteProtocol names the protocol in FILE_REMOTE_PROTOCOL_INFO: a WNNC_NET_… number of
// wnnc.h after two 16-bit fields, version and size.
func parseRemoteProtocol(b []byte) string {
	if len(b) < 8 {
		return "remote"
	}
	number := binary.LittleEndian.Uint32(b[4:])
	name := map[uint32]string{
		0x00020000: "smb",
		0x002e0000: "webdav",
		0x00420000: "nfs",
		0x00480000: "9p", // the files of the Linux subsystem
	}[number]
	if name == "" {
		return fmt.Sprintf("remote:0x%08x", number)
	}
	return name
}
