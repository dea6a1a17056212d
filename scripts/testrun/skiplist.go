package main

import (
	"fmt"
	"slices"
	"strings"
)

// allowed is one entry of the list: this test may be skipped in these runs, for that reason.
type allowed struct {
	runs            []string
	pkg, test, text string
}

// parseSkips reads lines of the form `RUN[,RUN…] PACKAGE TEST REASON`, RUN "all" for every run.
// Other names are exact, with no patterns: a group of tests must not slip away behind one line.
func parseSkips(text string) ([]allowed, error) {
	var list []allowed
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 6 {
			return nil, fmt.Errorf("line %d: %q is not `RUN[,RUN] PACKAGE TEST REASON`, with a "+
				"reason of some words", n, line)
		}
		list = append(list, allowed{strings.Split(words[0], ","), words[1], words[2],
			strings.Join(words[3:], " ")})
	}
	return list, nil
}

func find(list []allowed, run string, s skip) (reason string, ok bool) {
	for _, a := range list {
		if a.pkg == s.pkg && a.test == s.test &&
			(slices.Contains(a.runs, run) || slices.Contains(a.runs, "all")) {
			return a.text, true
		}
	}
	return "", false
}
