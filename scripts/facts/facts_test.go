package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said is what a Linux machine said, cut to what is required.
const said = `{"machine":{"os":"linux","kernel":{"value":"6.18"},"boot":{"id":{"value":"c84",
"source":"/proc"},"startedAt":{"value":"2026-01-01T00:00:00Z"}},"machine":{"id":{"value":"3d12"},
"host":{"value":"vm"}},"namespaces":{"pid":{"value":4026531836},"time":{"value":4026531834},
"pidInitial":{"value":true}},"procfs":{"value":"trustworthy"}},"filesystem":{"type":{"value":
"ext4"},"id":{"value":"d94"},"local":true},"self":{"pid":7,"presence":"running","readings":[{"said":
"x"}],"state":{"value":"running"},"threads":{"value":5},"start":{"value":"ticks:1"},"pidfd":
{"unknown":"too old"},"name":{"value":"a|b"},"startedAt":{"value":"2026-01-01T00:00:00Z"}},
"identity":{"v":1,"os":"linux","pid":7,"boot":"c84","start":"ticks:1","pidns":4026531836,
"timens":4026531834,"program":"probate"}}`

// stepsOf are the lines of a self-test in which one step has another status.
func stepsOf(odd, status string) string {
	var b strings.Builder
	b.WriteString(`{"step":"machine","status":"info","seen":"linux"}` + "\n")
	for _, name := range requiredSteps {
		is := "ok"
		if name == odd {
			is = status
		}
		b.WriteString(`{"step":"` + name + `","status":"` + is + `","seen":"as it was"}` + "\n")
	}
	return b.String()
}

func TestFacts(t *testing.T) {
	good := stepsOf("", "")
	with := func(old, new string) string { return strings.Replace(said, old, new, 1) }
	for name, c := range map[string]struct {
		probe, steps string
		problem      string
	}{
		"good": {said, good, ""},
		"unknown": {with(`"start":{"value"`, `"start":{"unknown"`), good,
			"self.start is unknown: ticks:1"},
		"missing": {with(`"boot":"c84",`, ""), good, "identity.boot is missing"},
		"empty":   {with(`"program":"probate"`, `"program":""`), good, "identity.program is empty"},
		"not local": {with(`"local":true`, `"local":false`), good,
			`filesystem.local is "false", not "true"`},
		"not JSON":   {said[1:], good, "probe.json: "},
		"two values": {said + "{}", good, "probe.json: more than one JSON value"},
		"no probe":   {"", good, "probe.json: "},
		"off":        {said, stepsOf("pause", "off"), "self-test: pause: off: as it was"},
		"skipped":    {said, stepsOf("crash", "skipped"), "self-test: crash: skipped: as it was"},
		"no steps":   {said, "", "self-test: no step hold"},
		"other failures": {said, good + `{"step":"machine","status":"off","seen":"?"}`,
			"self-test: machine: off: ?"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, m := range []string{"ubuntu", "other"} {
				put(t, dir, m, "probe.json", said)
				put(t, dir, m, "selftest.jsonl", good)
			}
			put(t, dir, "other", "probe.json", c.probe)
			put(t, dir, "other", "selftest.jsonl", c.steps)
			var out, errs bytes.Buffer
			code := run([]string{dir}, &out, &errs)
			if c.problem == "" {
				if code != 0 || errs.Len() != 0 {
					t.Fatalf("exit %d: %s", code, &errs)
				}
			} else if code != 1 || !strings.Contains(errs.String(), "facts: other: "+c.problem) ||
				strings.Contains(errs.String(), "ubuntu") {
				t.Fatalf("exit %d: %s", code, &errs)
			}
			for _, line := range []string{"| fact | other | ubuntu |", "| self-test | other | ubuntu |"} {
				if !strings.Contains(out.String(), line) {
					t.Errorf("no line %s in\n%s", line, &out)
				}
			}
			if !strings.Contains(out.String(), ` a\|b |`) || !strings.Contains(out.String(), "unknown: too old") {
				t.Errorf("facts are missing in\n%s", &out)
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {filepath.Join(t.TempDir(), "none")}, {t.TempDir()}} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code == 0 || errs.Len() == 0 {
			t.Errorf("%q: exit %d, said %q", args, code, &errs)
		}
	}
}

func put(t *testing.T, dir, machine, file, text string) {
	t.Helper()
	path := filepath.Join(dir, machine, file)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil && text == "" && file == "probe.json" {
		err = os.Remove(path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
