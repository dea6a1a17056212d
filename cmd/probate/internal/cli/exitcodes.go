package cli

import (
	"fmt"
	"strings"
)

// Exit codes: scripts rely on them.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitHeld      = 10
	exitGone      = 11
	exitUnknown   = 12
	exitLost      = 13
	exitFenced    = 14
	exitUnsure    = 15
	exitChanged   = 16
	exitCannotRun = 126
	exitNotFound  = 127
	exitSignal    = 128 // and the number of the signal
)

var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitOK, "done; or free (inspect)"},
	{exitFailure, "failure: the message, and \"kind\" in JSON, say which"},
	{exitUsage, "usage: the command line means nothing"},
	{exitHeld, "held by a living owner; also when --wait ran out"},
	{
		exitGone,
		"the owner is provably gone (inspect), the process is (probe); nothing was taken over",
	},
	{exitUnknown, "unknown: a person must decide"},
	{exitLost, "the lock was lost"},
	{exitFenced, "fenced: somebody took the lock over or broke it"},
	{exitUnsure, "written, but unsure: the lock was lost during the write"},
	{exitChanged, "the lock is no longer the one that break was told"},
	{exitCannotRun, "CMD cannot be run"},
	{exitNotFound, "CMD was not found"},
	{exitSignal, "and n: CMD, or probate while it waited, ended by signal n"},
}

// exitCodesText is the help page, made from the constants.
func exitCodesText() string {
	var b strings.Builder
	b.WriteString("probate exits with\n\n")
	for _, m := range exitMeanings {
		code := fmt.Sprint(m.code)
		if m.code == exitSignal {
			code += "+n"
		}
		fmt.Fprintf(&b, "  %-6s  %s\n", code, m.meaning)
	}
	b.WriteString(`
run and write pass the code of CMD through. For a CMD that uses 10 or 12 itself,
--conflict-code N exits with N in their place.

inspect with several states exits with 1 if one of them could not be looked at,
else with the highest code.
`)
	return b.String()
}

// worse combines the codes of several states: a failure wins, then the highest.
func worse(a, b int) int {
	if a == exitFailure || b == exitFailure {
		return exitFailure
	}
	return max(a, b)
}
