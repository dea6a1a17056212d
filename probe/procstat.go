package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// procStat is what this package uses of /proc/<pid>/stat.
type procStat struct {
	pid int
	// as the kernel has it: may hold ')', spaces, newlines and bytes that are no UTF-8
	comm    string
	state   byte   // one letter, see stateWord
	threads int    // 0 once the process is being taken down
	start   uint64 // clock ticks since boot
}

// Positions in /proc/<pid>/stat, counted from the state, the first field after the name.
const (
	statThreads = 17 // field 20 of proc(5)
	statStart   = 19 // field 22
)

var errEmptyStat = errors.New("empty")

// parseStat reads the text of /proc/<pid>/stat. The name is everything between the first '(' and
// the last ')', because a process can put parentheses and newlines into its own name and no field
// after it can hold any.
func parseStat(b []byte) (procStat, error) {
	var s procStat
	if len(b) == 0 {
		return s, errEmptyStat // happens while a process is being taken down
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 2 || end < open || b[open-1] != ' ' {
		return s, errors.New("no name in parentheses")
	}
	pid, err := strconv.Atoi(string(b[:open-1]))
	if err != nil || pid < 0 {
		return s, errors.New("does not begin with a process number")
	}
	state, rest := nextWord(b[end+1:])
	var word, threadsWord []byte
	for i := 1; i <= statStart; i++ {
		if word, rest = nextWord(rest); len(word) == 0 {
			return s, fmt.Errorf("cut short after %d fields", i+min(len(state), 1)+1)
		}
		if i == statThreads {
			threadsWord = word
		}
	}
	if len(state) != 1 || !isLetter(state[0]) {
		return s, errors.New("state is not one letter")
	}
	threads, err := strconv.Atoi(string(threadsWord))
	if err != nil || threads < 0 {
		return s, errors.New("number of threads is not a number")
	}
	start, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil {
		return s, errors.New("start is not a number")
	}
	return procStat{pid, string(b[open+1 : end]), state[0], threads, start}, nil
}

// nextWord cuts the first word off a line of words.
func nextWord(b []byte) (word, rest []byte) {
	from := 0
	for from < len(b) && isBlank(b[from]) {
		from++
	}
	end := from
	for end < len(b) && !isBlank(b[end]) {
		end++
	}
	return b[from:end], b[end:]
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// exited reports whether no thread of the process runs any more. A first thread that is dead while
// others live is shown as a zombie with more than one thread.
func (s procStat) exited() bool { return s.deadLeader() && s.threads < 2 }

func (s procStat) deadLeader() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// stateWord is the word for a state letter of the kernel, "" for one that is not known here.
func stateWord(letter byte) string {
	switch letter {
	case 'R':
		return "running"
	case 'S':
		return "sleeping"
	case 'D':
		return "disk-sleep"
	case 'T':
		return "stopped"
	case 't':
		return "traced"
	case 'Z':
		return "zombie"
	case 'X', 'x':
		return "dead"
	case 'I':
		return "idle"
	case 'P':
		return "parked"
	default:
		return ""
	}
}

// statusField returns the value of one line of /proc/<pid>/status. Lines are safe to split there:
// the kernel escapes newlines in the name.
func statusField(status []byte, name string) (string, bool) {
	for len(status) > 0 {
		line := status
		if i := bytes.IndexByte(status, '\n'); i >= 0 {
			line, status = status[:i], status[i+1:]
		} else {
			status = nil
		}
		if len(line) > len(name) && line[len(name)] == ':' && string(line[:len(name)]) == name {
			return string(bytes.TrimSpace(line[len(name)+1:])), true
		}
	}
	return "", false
}

// statusNumbers returns the whole numbers of one line of /proc/<pid>/status, nil when the line is
// missing or holds anything else.
func statusNumbers(status []byte, name string) []int {
	value, ok := statusField(status, name)
	if !ok {
		return nil
	}
	var numbers []int
	for _, word := range bytes.Fields([]byte(value)) {
		n, err := strconv.Atoi(string(word))
		if err != nil || n < 0 {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// foreignNumbers judges the NSpid line of this process: its numbers from the namespace that /proc
// describes down to its own. It returns why /proc is not the one of its own namespace, or "".
func foreignNumbers(numbers []int, pid int) string {
	switch {
	case len(numbers) == 0:
		return "it does not say which pid namespace it describes"
	case len(numbers) > 1:
		return fmt.Sprintf("it belongs to an outer pid namespace (NSpid %v)", numbers)
	case numbers[0] != pid:
		return fmt.Sprintf("it calls this process %d, and it is %d", numbers[0], pid)
	default:
		return ""
	}
}
