package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// stream makes the output of go test -json from lines "ACTION TEST OUTPUT", with - for no test.
// What begins with "go:" is go's own and stays as it is.
func stream(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line, "go:") {
			b.WriteString(line + "\n")
			continue
		}
		words := append(strings.SplitN(line, " ", 3), "", "")
		e := event{Action: words[0], Package: module + "/fence", Output: words[2]}
		if words[1] != "-" {
			e.Test = words[1]
		}
		text, _ := json.Marshal(e)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

func TestFollow(t *testing.T) {
	var out strings.Builder
	r, err := follow(strings.NewReader(stream(
		"start -",
		"output TestA === RUN   TestA\n",
		"output TestA     a_test.go:7: needs root: to change owners\n",
		"output TestA --- SKIP: TestA (0.00s)\n",
		"skip TestA",
		"output TestB/one     b_test.go:9: got 1\n",
		"fail TestB/one",
		"output TestC quiet\n",
		"pass TestC",
		"go: downloading something",
		"output - PASS\n",
		"output - FAIL\t"+module+"/fence\t0.1s\n",
		"fail -")), &out)
	if err != nil {
		t.Fatal(err)
	}
	const shown = "    b_test.go:9: got 1\ngo: downloading something\n" +
		"FAIL\tgithub.com/probate-dev/probate/fence\t0.1s\n"
	if out.String() != shown {
		t.Errorf("printed %q instead of %q", out.String(), shown)
	}
	if r.passed != 1 || r.failed != 1 || len(r.skips) != 1 ||
		r.skips[0] != (skip{"fence", "TestA", "needs root: to change owners"}) {
		t.Errorf("counted %+v", r)
	}
}

// A test that ends the process, or hangs, leaves no verdict: what it said must not be lost.
func TestFollowCrash(t *testing.T) {
	var out strings.Builder
	_, err := follow(strings.NewReader(stream("output TestX panic: hell\n", "fail -")), &out)
	if err != nil || !strings.Contains(out.String(), "panic: hell") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

func TestJudge(t *testing.T) {
	list, err := parseSkips("# who\nrace,386 fence TestA no such processor here\n" +
		"all fence TestC never any use here\n")
	if err != nil {
		t.Fatal(err)
	}
	listed := skip{"fence", "TestA", "no"}
	for _, c := range []struct {
		run  string
		s    skip
		good bool
	}{
		{"race", listed, true},
		{"386", listed, true},
		{"wine", listed, false},
		{"wine", skip{"fence", "TestC", "no"}, true},
		{"race", skip{"fence", "TestA/sub", "no"}, false},
		{"race", skip{"probe", "TestA", "no"}, false},
	} {
		var out strings.Builder
		r := report{skips: []skip{c.s}}
		if got := r.judge(c.run, list, &out); got != c.good {
			t.Errorf("%s, %+v: %v, want %v\n%s", c.run, c.s, got, c.good, out.String())
		}
		if strings.Contains(out.String(), "NOT ALLOWED") == c.good {
			t.Errorf("%s, %+v: printed %q", c.run, c.s, out.String())
		}
	}
}

func TestParseSkipsRefuses(t *testing.T) {
	for _, line := range []string{"race fence TestA", "race fence TestA because",
		"fence TestA needs a reason"} {
		if list, err := parseSkips(line + "\n"); err == nil {
			t.Errorf("%q was taken as %+v", line, list)
		}
	}
}
