package probe

import "testing"

func TestOnDisk(t *testing.T) {
	for device, want := range map[string]struct {
		disk bool
		name string
	}{
		`\Device\HarddiskVolume3\Users\x`:                {true, "harddiskvolume3"},
		`\device\harddiskvolume12`:                       {true, "harddiskvolume12"},
		`\Device\HarddiskDmVolumes\PhysicalDmVolumes\x`:  {true, "harddiskdmvolumes"},
		`\Device\CdRom0\x`:                               {true, "cdrom0"},
		`\Device\Floppy0\x`:                              {true, "floppy0"},
		`\Device\Mup\server\share\x`:                     {false, "mup"},
		`\Device\LanmanRedirector\;Z:00001\server\share`: {false, "lanmanredirector"},
		`\Device\Volume{0c3a1a6e-0000}\x`:                {false, "volume{0c3a1a6e-0000}"},
		`\Device\VBoxMiniRdr\;E:\VBoxSvr\share`:          {false, "vboxminirdr"},
		`\Device\HarddiskVolume3x\Users`:                 {false, "harddiskvolume3x"},
		`\Device\HarddiskVolume\Users`:                   {false, "harddiskvolume"},
		`\Device\HarddiskDmVolumes\`:                     {false, "harddiskdmvolumes"},
		`\\?\C:\Users`:                                   {false, "unknown"},
		`\Device`:                                        {false, "unknown"},
		``:                                               {false, "unknown"},
	} {
		if got := onDisk(device); got != want.disk {
			t.Errorf("%s: on a disk: %v", device, got)
		}
		if got := deviceName(device); got != want.name {
			t.Errorf("%s: device %q", device, got)
		}
	}
}

func TestRemoteProtocol(t *testing.T) {
	for want, b := range map[string][]byte{
		"smb":               {2, 0, 116, 0, 0, 0, 2, 0, 3, 0},
		"nfs":               {1, 0, 116, 0, 0, 0, 0x42, 0},
		"9p":                {1, 0, 116, 0, 0, 0, 0x48, 0},
		"remote:0x00390000": {1, 0, 116, 0, 0, 0, 0x39, 0},
		"remote":            {1, 0, 116, 0},
	} {
		if got := parseRemoteProtocol(b); got != want {
			t.Errorf("%v: %s, want %s", b, got, want)
		}
		if localWindowsFilesystems[want] {
			t.Errorf("%s is local", want)
		}
	}
}

func TestParseMachineGUID(t *testing.T) {
	const good = "3d1219c7-c4c5-404a-aa1f-6d2a48adfda4"
	for text, want := range map[string]string{
		good:                                   good,
		"3D1219C7-C4C5-404A-AA1F-6D2A48ADFDA4": good,
		"{" + good + "}":                       good,
		good + "\r\n":                          good,
		"":                                     "",
		"uninitialized":                        "",
		good[:35]:                              "",
		good + "0":                             "",
		"00000000-0000-0000-0000-000000000000": "",
		"3d1219c7c4c5404aaa1f6d2a48adfda4":     "",
		good + "\n" + good:                     "",
	} {
		got, err := parseMachineGUID(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
