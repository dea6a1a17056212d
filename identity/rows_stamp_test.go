package identity_test

import "github.com/probate-dev/probate/probe"

// stampRows are the rows for an identity without a lock file.
var stampRows = []row{
	{
		name:  "stamp 5: running",
		world: stamped(),
		want:  "alive process-running",
		flips: outcomes{
			"unknown other-boot": {
				"other boot", "other boot, other filesystem id", "other boot, other inode",
			},
			"unknown boot-unreadable":      {bootUnknown},
			"unknown other-pid-namespace":  {"other pid namespace"},
			"unknown namespace-unreadable": {pidNSUnknown},
			"gone no-such-process":         {noProcess},
			"unknown process-unreadable":   {"presence unknown"},
			"gone process-exited":          {"exited"},
			"gone pid-reused":              {reused, "other pidfd"},
			"unknown other-os":             {"other operating system"},
			"unknown nothing-recorded":     {"no process number"},
		},
	},
	{
		name:  "stamp 9: missing",
		world: stamped().with(absent(probe.Missing)),
		want:  "gone no-such-process",
		flips: outcomes{
			"unknown other-boot": {
				"other boot", "other boot, other filesystem id", "other boot, other inode",
			},
			"unknown boot-unreadable":      {bootUnknown},
			"unknown other-pid-namespace":  {"other pid namespace"},
			"unknown namespace-unreadable": {pidNSUnknown},
			"alive process-running":        {"the owner's process"},
			"unknown process-unreadable":   {"presence unknown"},
			"gone process-exited":          {"exited"},
			"gone pid-reused":              {reused},
			"unknown other-os":             {"other operating system"},
			"unknown nothing-recorded":     {"no process number"},
		},
	},
	{
		name:  "stamp 9: another by start",
		world: stamped().with(noPIDFD, anotherProcess),
		want:  "gone pid-reused",
		flips: outcomes{
			"unknown other-boot": {
				"other boot", "other boot, other filesystem id", "other boot, other inode",
			},
			"unknown boot-unreadable":      {bootUnknown},
			"unknown other-pid-namespace":  {"other pid namespace"},
			"unknown namespace-unreadable": {pidNSUnknown, timeNSUnknown},
			"unknown other-time-namespace": {"other time namespace"},
			"alive process-running":        {"the owner's process", "same pidfd", "same start"},
			"gone no-such-process":         {noProcess},
			"unknown process-unreadable":   {"presence unknown"},
			"gone process-exited":          {"exited"},
			"unknown start-unreadable":     {startUnknown},
			"unknown other-os":             {"other operating system"},
			"unknown nothing-recorded":     {"no process number"},
		},
	},
	{
		name:  "stamp 9: exited",
		world: stamped().with(presence(probe.Exited)),
		want:  "gone process-exited",
		flips: outcomes{
			"unknown other-boot": {
				"other boot", "other boot, other filesystem id", "other boot, other inode",
			},
			"unknown boot-unreadable":      {bootUnknown},
			"unknown other-pid-namespace":  {"other pid namespace"},
			"unknown namespace-unreadable": {pidNSUnknown},
			"alive process-running":        {"the owner's process"},
			"gone no-such-process":         {noProcess},
			"unknown process-unreadable":   {"presence unknown"},
			"gone pid-reused":              {reused, "other pidfd"},
			"unknown other-os":             {"other operating system"},
			"unknown nothing-recorded":     {"no process number"},
		},
	},
	{
		name:  "stamp 11: other boot",
		world: stamped().with(bootRecorded(otherBoot), absent(probe.PresenceUnknown)),
		want:  "unknown other-boot",
		flips: outcomes{
			"unknown boot-unreadable":    {bootUnknown},
			"unknown process-unreadable": {"same boot"},
			"unknown other-os":           {"other operating system"},
			"unknown nothing-recorded":   {"no process number"},
		},
	},
	{
		name:  "stamp 12: boot unknown",
		world: stamped().with(bootNotGenuine),
		want:  "unknown boot-unreadable",
		flips: outcomes{
			"unknown other-os":         {"other operating system"},
			"unknown nothing-recorded": {"no process number"},
		},
	},
}
