package probe

import (
	"strconv"
	"strings"
)

// mountEntry is what this package uses of one line of /proc/<pid>/mountinfo.
type mountEntry struct {
	id     int
	root   string // which part of the filesystem is mounted, "/" for all of it
	point  string // where, as seen from the root directory of the process
	fsType string
	super  string // options of the filesystem itself, comma separated
}

// parseMountInfo returns the mounts of a mountinfo file. Lines that make no sense are left out: who
// then does not find a mount knows less, never something wrong.
func parseMountInfo(text string) []mountEntry {
	var mounts []mountEntry
	for line := range strings.Lines(text) {
		if m, ok := parseMountLine(line); ok {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// parseMountLine reads a line such as
//
//	36 35 98:0 /sub /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue
//
// in which any number of words may stand before the dash.
func parseMountLine(line string) (mountEntry, bool) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\n' })
	dash := -1
	for i := 6; i < len(words); i++ {
		if words[i] == "-" {
			dash = i
			break
		}
	}
	if dash < 0 || len(words) < dash+3 {
		return mountEntry{}, false
	}
	id, err := strconv.Atoi(words[0])
	if err != nil || id < 0 {
		return mountEntry{}, false
	}
	return mountEntry{
		id:     id,
		root:   unescapeMount(words[3]),
		point:  unescapeMount(words[4]),
		fsType: words[dash+1],
		super:  words[len(words)-1], // the source before it may be empty, and then leaves no word
	}, true
}

// unescapeMount undoes the octal escapes (\040 for a space) of mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// inPlace reports whether m shows a part of procfs at the place where it belongs: all of it on
// /proc, or a part of it on itself, as container managers do to make /proc/sys read-only.
func (m mountEntry) inPlace() bool {
	if m.fsType != "proc" {
		return false
	}
	if m.root == "/" {
		return m.point == "/proc"
	}
	return m.point == "/proc"+m.root
}

// hides returns the option by which a procfs hides processes, "" when it hides none. subset=pid
// hides files, not processes.
func (m mountEntry) hides() string {
	for option := range strings.SplitSeq(m.super, ",") {
		if name, value, _ := strings.Cut(option, "="); name == "hidepid" && value != "0" &&
			value != "off" {
			return option
		}
	}
	return ""
}

// coversProcess reports whether m lies over the directory of a process in /proc, or in it.
func (m mountEntry) coversProcess() bool {
	rest, ok := strings.CutPrefix(m.point, "/proc/")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
