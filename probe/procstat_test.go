package probe

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// statLine returns the text of a stat file as Linux 6.18 writes it.
func statLine(pid int, comm, state string, threads int, start uint64) string {
	return strconv.Itoa(pid) + " (" + comm + ") " + state +
		" 1 5 5 0 -1 4194560 1057 0 0 0 2 1 0 0 20 0 " + strconv.Itoa(threads) + " 0 " +
		strconv.FormatUint(
			start,
			10,
		) + " 2600960 189 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 " +
		"1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
}

func TestParseStat(t *testing.T) {
	for _, comm := range []string{
		"bash", "", " ", ")", "(", "((", "))", ") Z 1 (\n 9", "a) S 1 (b", "\xff\xfe\x80", "\n",
		"tmux: server", "0123456789abcde", ") R 1 1 1 1",
	} {
		want := procStat{4711, comm, 'S', 5, 101152}
		got, err := parseStat([]byte(statLine(4711, comm, "S", 5, 101152)))
		if err != nil || got != want {
			t.Errorf("name %q: got %+v, %v", comm, got, err)
		}
	}
}

func TestParseStatDamaged(t *testing.T) {
	whole := statLine(4711, "a b) c", "S", 5, 101152)
	// Cut anywhere before the end of field 22, it must be refused: half a number is not a number.
	end := strings.Index(whole, " 101152 ") + len(" 101152")
	for i := range end - len("01152") {
		if got, err := parseStat([]byte(whole[:i])); err == nil {
			t.Errorf("cut at %d %q: got %+v", i, whole[:i], got)
		}
	}
	for _, text := range []string{
		"", "\n", "4711", "4711 (a", "4711 a) S", "x (a) S", "-1 (a) S 1", "(a) S 1",
		statLine(1, "a", "SS", 1, 1),
		strings.Replace(whole, " 101152 ", " -1 ", 1),
		strings.Replace(whole, " 101152 ", " 1x ", 1),
		strings.Replace(whole, " 101152 ", " 18446744073709551616 ", 1),
		strings.Replace(whole, " 20 0 5 ", " 20 0 -5 ", 1),
	} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestExited(t *testing.T) {
	for _, c := range []struct {
		state   byte
		threads int
		want    bool
	}{
		{'Z', 1, true}, {'X', 0, true}, {'x', 0, true}, {'Z', 0, true},
		{'Z', 2, false}, // the first thread is dead, another lives
		{'S', 1, false}, {'T', 1, false}, {'t', 1, false}, {'D', 1, false}, {'R', 0, false},
		{'?', 1, false},
	} {
		if got := (procStat{state: c.state, threads: c.threads}).exited(); got != c.want {
			t.Errorf("state %c, %d threads: exited = %v", c.state, c.threads, got)
		}
	}
}

func TestStatusNumbers(t *testing.T) {
	status := "Name:\tx\\nTgid:\t7\nUmask:\t0022\nTgid:\t4711\nPid:\t4712\nNSpid:\t10008\t4\nGroups:\t \n" +
		"VmPeak:\t  100 kB\nTgidish:\t9\n"
	for name, want := range map[string][]int{
		"Tgid": {4711}, "Pid": {4712}, "NSpid": {10008, 4}, "Groups": nil, "VmPeak": nil, "No": nil,
	} {
		if got := statusNumbers([]byte(status), name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestForeignNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers []int
		ours    bool
	}{
		{[]int{7}, true}, {[]int{8}, false}, {nil, false},
		{[]int{7, 7}, false}, // the same number in two namespaces, and /proc is the outer one's
		{[]int{7, 1}, false}, {[]int{1, 7}, false},
	} {
		if why := foreignNumbers(c.numbers, 7); (why == "") != c.ours {
			t.Errorf("%v: %q", c.numbers, why)
		}
	}
}

func TestStateWords(t *testing.T) {
	seen := map[string]bool{}
	for _, letter := range "RSDTtZXIP" {
		word := stateWord(byte(letter))
		if word == "" || seen[word] {
			t.Errorf("%c: %q", letter, word)
		}
		seen[word] = true
	}
	if stateWord('x') != "dead" || stateWord('K') != "" {
		t.Error("x or K")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine(1, ") Z 1 (\n 9", "S", 1, 7)))
	f.Add([]byte(""))
	f.Add([]byte("0 ()\xb3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := parseStat(text)
		if err != nil {
			return
		}
		// What was understood is what a kernel that means it would have written.
		again, err := parseStat(
			[]byte(statLine(st.pid, st.comm, string(st.state), st.threads, st.start)),
		)
		if err != nil || again != st {
			t.Errorf("%q: %+v, written again: %+v, %v", text, st, again, err)
		}
		if !Ticks(st.start).Valid() {
			t.Errorf("invalid start %q", Ticks(st.start))
		}
	})
}

func FuzzStatusNumbers(f *testing.F) {
	f.Add([]byte("NSpid:\t1\t2\n"), "NSpid")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		for _, n := range statusNumbers(text, name) {
			if n < 0 {
				t.Errorf("%q: %d", text, n)
			}
		}
	})
}
