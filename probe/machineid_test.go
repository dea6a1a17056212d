package probe

import (
	"strings"
	"testing"
)

const goodID = "3d1219c7c4c5404aaa1f6d2a48adfda4"

func TestParseMachineID(t *testing.T) {
	for text, want := range map[string]string{
		goodID + "\n":                          goodID,
		goodID:                                 goodID,
		goodID + "\r\n":                        goodID,
		" " + goodID + "\t\n":                  goodID,
		strings.ToUpper(goodID) + "\n":         goodID,
		"":                                     "",
		"\n":                                   "",
		"uninitialized\n":                      "",
		goodID[:31] + "\n":                     "",
		goodID + "0\n":                         "",
		strings.Repeat("0", 32):                "",
		strings.Repeat("0", 33):                "",
		goodID[:31] + "g":                      "",
		goodID[:31] + "\x00":                   "",
		goodID[:30] + "é":                      "",
		"3d1219c7-c4c5-404a-aa1f-6d2a48adfda4": "",
		goodID + "\n" + goodID:                 "",
	} {
		got, err := parseMachineID(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestTrimJavaScript(t *testing.T) {
	for text, want := range map[string]string{
		"\uFEFF a\u00a0\u2028\u3000": "a",
		"\u0085a\u0085":              "\u0085a\u0085", // white space for Go only
		"\t\n\v\f\r ":                "",
	} {
		if got := trimJavaScript(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestParseBootID(t *testing.T) {
	const good = "c8445088-eefb-433b-b700-9c17a800e2cf"
	for text, want := range map[string]string{
		good + "\n": good,
		good:        good,
		"":          "", "\n": "", "abcde": "",
		strings.ToUpper(good):                     "",
		good + "\n\n":                             "",
		good + "0":                                "",
		"c8445088eefb433bb7009c17a800e2cf":        "",
		"c8445088-eefb-433b-b7009-c17a800e2cf":    "",
		"c8445088-eefb-433b-b700--c17a800e2cf":    "",
		"00000000-0000-0000-0000-000000000000":    "",
		"g8445088-eefb-433b-b700-9c17a800e2cf\n":  "",
		" c8445088-eefb-433b-b700-9c17a800e2cf\n": "",
	} {
		got, err := parseBootID(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func FuzzParseMachineID(f *testing.F) {
	f.Add(goodID + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseMachineID(text)
		if (err == nil) != (len(id) == 32) || !allHex(id) {
			t.Errorf("%q: %q, %v", text, id, err)
		}
	})
}

func TestFilesystems(t *testing.T) {
	for magic, want := range map[uint32]struct {
		name  string
		local bool
	}{
		0xef53: {"ext4", true}, 0x01021994: {"tmpfs", true}, 0x58465342: {"xfs", true},
		0x9123683e: {"btrfs", true}, 0x794c7630: {"overlay", true}, 0x2fc12fc1: {"zfs", true},
		0x6969: {"nfs", false}, 0xff534d42: {"cifs", false}, 0xfe534d42: {"smb2", false},
		0x01021997: {"9p", false}, 0x65735546: {"fuse", false}, 0x00c36400: {"ceph", false},
		0x1234abcd: {"0x1234abcd", false}, 0: {"0x00000000", false},
	} {
		name := linuxFilesystem(magic)
		if name != want.name || localFilesystem(name) != want.local {
			t.Errorf("%#x: %s, local %v", magic, name, localFilesystem(name))
		}
	}
	named := map[string]bool{}
	for _, name := range linuxFilesystems {
		named[name] = true
	}
	for name := range localFilesystems {
		if !named[name] {
			t.Errorf("%s is local and has no number", name)
		}
	}
}
