package lockfile

import (
	"bytes"

	"github.com/probate-dev/probate/fence"
)

// lastLoggedFence returns the largest number near the end of the logs. Numbers only grow, so that
// it is the largest of all unless somebody else wrote there.
func (p *place) lastLoggedFence() (fence.Token, error) {
	for _, name := range []string{p.logName(), p.oldLogName()} {
		content, _, err := p.endOf(name, logTail)
		if err != nil {
			return 0, err
		}
		if largest := largestFence(content, 0); largest > 0 {
			return largest, nil
		}
	}
	return 0, nil
}

// loggedFence returns the largest number in the logs.
func (p *place) loggedFence() (largest fence.Token, err error) {
	for _, name := range []string{p.logName(), p.oldLogName()} {
		content, _, err := p.endOf(name, logReadMax)
		if err != nil {
			return 0, err
		}
		largest = largestFence(content, largest)
	}
	return largest, nil
}

// largestFence returns the largest number in the lines of a log, but not less than known. It begins
// with the last line, which nearly always has it; of the others only those are taken apart that may
// have a larger one: who takes over reads them all, and everybody waits for that.
func largestFence(content []byte, known fence.Token) fence.Token {
	for len(content) > 0 {
		at := bytes.LastIndexByte(content, '\n')
		line := content[at+1:]
		content = content[:max(at, 0)]
		if !mayExceed(line, known) {
			continue
		}
		if e, ok := parseEntry(line); ok {
			known = max(known, e.Fence)
		}
	}
	return known
}

// mayExceed reports whether what parseEntry makes of a line may have a number above known. A key
// counts in every case of its letters, and a number in quotes too, as for encoding/json.
func mayExceed(line []byte, known fence.Token) bool {
	if bytes.Contains(line, []byte(`\u`)) {
		return true // any letter can be written so
	}
	const key = `fence"`
	for {
		quote := bytes.IndexByte(line, '"')
		if quote < 0 {
			return false
		}
		line = line[quote+1:]
		if len(line) < len(key) || !bytes.EqualFold(line[:len(key)], []byte(key)) {
			continue
		}
		value := bytes.TrimLeft(line[len(key):], " \t\r:\"")
		digits := 0
		var n fence.Token
		for digits < len(value) && '0' <= value[digits] && value[digits] <= '9' && n < fence.Max {
			n = n*10 + fence.Token(value[digits]-'0')
			digits++
		}
		if digits == 0 || n > known {
			return true
		}
	}
}
