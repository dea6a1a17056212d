package lockfile_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
)

// deadRecord leaves the record of a holder that was killed, and returns its bytes.
func deadRecord(t *testing.T, state string) []byte {
	t.Helper()
	startHolder(t, state, nil).Kill()
	content, err := os.ReadFile(state + ".lock")
	must(t, err)
	return content
}

// with replaces the value of a field in the text of a record, whatever stands there.
func with(t *testing.T, content []byte, field, value string) []byte {
	t.Helper()
	re := regexp.MustCompile(`"` + field + `":("[^"]*"|[0-9]+)`)
	out := re.ReplaceAll(content, []byte(`"`+field+`":`+value))
	if bytes.Equal(out, content) {
		t.Fatalf("no field %s in %s", field, content)
	}
	return out
}

// Content that is no record of this version: refused in time, with its reason, and left alone.
func TestHostileContent(t *testing.T) {
	state := openState(t)
	good := string(deadRecord(t, state))
	utf16 := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			b.WriteByte(byte(r))
			b.WriteByte(0)
		}
		return b.String()
	}
	changed := func(field, value string) string {
		return string(with(t, []byte(good), field, value))
	}
	const (
		damaged = identity.RecordDamaged
		foreign = identity.RecordForeign
	)
	var slowest time.Duration
	for _, c := range []struct {
		name, content string
		reason        identity.Reason
		says          string
	}{
		{"null", "null", foreign, "not a JSON object"},
		{"array", "[]", foreign, "not a JSON object"},
		{"empty object", "{}", foreign, "no version"},
		{"string", `"held"`, foreign, "not a JSON object"},
		{"space", " \n", foreign, "not a JSON object"},
		{"pid text", "1234\n", foreign, "not a JSON object"},
		{"git index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x9f\xff\x00", 30),
			foreign, "not a JSON object"},
		{"shell script", "#!/bin/sh\n", foreign, "not a JSON object"},
		{"other case", `{"pid":7,"PID":9}`, damaged, `key "PID" twice`},
		{"other case alone", `{"V":2}`, damaged, `"V" instead of "v"`},
		{"key twice", `{"v":2,` + good[1:], damaged, `key "v" twice`},
		{"case variant", strings.Replace(good, `"lease"`, `"Lease"`, 1), damaged,
			`"Lease" instead of "lease"`},
		{"case variant in proof", strings.Replace(good, `"boot":`, `"Boot":`, 1), damaged,
			`"Boot" instead of "boot"`},
		{"two objects", good + good, damaged, "data after"},
		{"trailing text", good + " x", damaged, "data after"},
		{"trailing NUL", good + "\x00", damaged, ""},
		{"trailing comma", good[:len(good)-1] + ",}", damaged, ""},
		{"comment", good[:1] + "/**/" + good[1:], damaged, ""},
		{"NaN", changed("fence", "NaN"), damaged, ""},
		{"invalid UTF-8", changed("program", "\"\xff\xfe\""), damaged,
			"UTF-8"},
		{"byte order mark", "\ufeff" + good, foreign, "byte order mark"},
		{"UTF-16", utf16(good), damaged, ""},
		{"UTF-16 with mark", "\xff\xfe" + utf16(good), foreign, "not a JSON object"},
		{"a million characters", `{"v":2,"label":"` + strings.Repeat("a", 1<<20) + `"}`,
			identity.RecordTooLarge, ""},
		{"more than 64 KiB", good + strings.Repeat(" ", 64<<10+1-len(good)),
			identity.RecordTooLarge, ""},
		{"deep array", strings.Repeat("[", 60_000), foreign, "not a JSON object"},
		{"very deep array", strings.Repeat("[", 100_000), identity.RecordTooLarge, ""},
		{"deep in a field", `{"v":2,"x":` + strings.Repeat("[", 60_000), damaged, "nested deeper"},
		{"deep objects", strings.Repeat(`{"v":`, 10_000), damaged, ""},
		{"newer", strings.Replace(good, `"v":2`, `"v":3`, 1), identity.RecordNewer, "3"},
		{"much newer", `{"v":999,"anything":true}`, identity.RecordNewer, "999"},
		{"older", `{"v":1}`, identity.RecordNewer, "1"},
		{"version text", `{"v":"2"}`, damaged, ""},
		{"version fraction", `{"v":2.5}`, damaged, "2.5"},
		{"version null", `{"v":null}`, foreign, "no version"},
		{"lease-v1", strings.Repeat("0123456789abcdef", 3), identity.RecordLeaseV1, ""},
		{"lease-v1 with newline", strings.Repeat("0123456789abcdef", 3) + "\n",
			identity.RecordLeaseV1, ""},
		{"lease missing", strings.Replace(good, `"lease"`, `"leash"`, 1), damaged, "lease"},
		{"lease short", changed("lease", `"abc"`), damaged, "lease"},
		{"lease upper case", changed("lease", `"`+strings.Repeat("A", 48)+`"`), damaged, "lease"},
		{"owner", changed("owner", `"me"`), damaged, "owner"},
		{"host id", changed("hostId", `""`), damaged, "hostId"},
		{"fence negative", changed("fence", "-1"), damaged, "fence"},
		{"fence too large", changed("fence", "9007199254740992"), damaged,
			"fence"},
		{"start missing", strings.Replace(good, `"processStart"`, `"processEnd"`, 1), damaged,
			"processStart"},
		{"boot fraction", changed("bootStart", "1.5"), damaged, ""},
		{"no time", changed("createdAt", `"yesterday"`), damaged,
			"createdAt"},
		{"time without zone", changed("createdAt", `"2026-11-30T06:39:27.914"`), damaged,
			"createdAt"},
		{"no system", changed("os", `""`), damaged, "proof.os"},
		{"proof is text", `{"v":2,"proof":"yes"}`, damaged, ""},
		{"inode zero", changed("inode", "0"), damaged, "proof.file"},
		{"pidns zero", changed("pidns", "0"), damaged, "proof.pidns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			putFile(t, state+".lock", []byte(c.content))
			in := wantUnknown(t, inTime(t, realReader, &slowest), state, c.reason)
			wantSays(t, in, c.says)
			if in.Owner != nil && in.Reason != identity.RecordNewer {
				t.Errorf("owner %+v of a record that cannot be used", in.Owner)
			}
		})
	}
	t.Logf("slowest answer: %v", slowest)

	// What is white space for JSON is accepted on purpose.
	for _, end := range []string{"\n", "\r\n", "  \n\n"} {
		putFile(t, state+".lock", []byte(good+end))
		wantGone(t, realReader, state, identity.NoSuchProcess)
	}
	putFile(t, state+".lock", []byte("\r\n"+good+strings.Repeat(" ", 64<<10-2-len(good))))
	wantGone(t, realReader, state, identity.NoSuchProcess)
	// Unknown fields belong to newer writers.
	putFile(t, state+".lock", []byte(good[:len(good)-1]+`,"newField":{"a":[1,2,{"b":null}]}}`))
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}

// A held kernel lock decides whatever the bytes have become.
func TestHostileContentOfLivingOwner(t *testing.T) {
	state := openState(t)
	startHolder(t, state, nil)
	for _, content := range []string{"", "\x00\x00\x00", `{"v":2,"le`, "null", `{"v":3}`, "1234\n",
		strings.Repeat("[", 100_000), strings.Repeat("0123456789abcdef", 3)} {
		putFile(t, state+".lock", []byte(content))
		wantAlive(t, realReader, state, identity.KernelLockHeld)
	}
}

// So it does when the record names another kind of lock than the one that is held, and nothing can
// be said about the owner's process.
func TestHostileLockKindOfLivingOwner(t *testing.T) {
	state := openState(t)
	startHolder(t, state, nil)
	for _, kind := range []string{"flock", "handle", "none", ""} {
		editRecord(t, state, func(f recordFields) {
			f.proof()["kernelLock"] = kind
			f.proof()["pidns"] = 1
		})
		wantAlive(t, realReader, state, identity.KernelLockHeld)
	}
}

// Numbers that address groups of processes, or overflow, are never asked about.
var hostilePIDs = []string{"0", "-1", "-2147483648", "1.5", `"12"`, "2147483648", "4294967297",
	"18446744073709551617", "1e3", "null", "true", "[1]", "4194305", "9007199254740993"}

func TestHostilePID(t *testing.T) {
	state := openState(t)
	good := deadRecord(t, state)
	for _, pid := range hostilePIDs {
		for form, content := range map[string][]byte{
			"record": with(t, good, "pid", pid),
			"legacy": withoutProof(t, with(t, good, "pid", pid)),
		} {
			putFile(t, state+".lock", content)
			in := wantUnknown(t, realReader, state, identity.RecordDamaged)
			if len(in.Evidence) == 0 {
				t.Errorf("%s with pid %s: no evidence says what is wrong", form, pid)
			}
		}
	}
}

// withoutProof makes a record of the form that programs in other languages write.
func withoutProof(t *testing.T, content []byte) []byte {
	t.Helper()
	i := bytes.Index(content, []byte(`,"proof":`))
	j := bytes.Index(content, []byte(`,"program":`))
	if i < 0 || j < i {
		t.Fatalf("no proof in %s", content)
	}
	return append(bytes.Clone(content[:i]), '}')
}

// straced lets a child run under strace, which writes those of its system calls to a file.
func straced(t *testing.T, calls string) (trace string, change func(*exec.Cmd)) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("strace is needed in CI: ", err)
		}
		t.Skip("needs strace, to see the system calls")
	}
	program, err := os.Executable()
	must(t, err)
	trace = filepath.Join(t.TempDir(), "trace")
	return trace, func(cmd *exec.Cmd) {
		args := []string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=" + calls, program}
		cmd.Path, cmd.Args = strace, append(args, cmd.Args[1:]...)
	}
}

// The kernel is asked about the recorded number only where that is one, and nobody is ever
// signalled.
func TestHostilePIDSystemCalls(t *testing.T) {
	trace, traced := straced(t, "kill,tkill,tgkill,pidfd_open,pidfd_send_signal")
	state := openState(t)
	good := deadRecord(t, state)
	c := startWitness(t, traced)
	own, r := c.Ask("pid"), lookThere(t, c, "")
	for _, pid := range hostilePIDs {
		record := with(t, good, "pid", pid)
		for _, content := range [][]byte{record, withoutProof(t, record)} {
			putFile(t, state+".lock", content)
			wantUnknown(t, r, state, identity.RecordDamaged)
		}
	}
	// A number that is one, to see that the trace shows anything at all.
	putFile(t, state+".lock", with(t, good, "pid", "4194304"))
	wantGone(t, r, state, identity.NoSuchProcess)
	c.Close()

	text, err := os.ReadFile(trace)
	must(t, err)
	call := regexp.MustCompile(`(?m)^\d+ +(\w+)\((-?\d+), (\w+)`)
	asked := false
	for _, m := range call.FindAllStringSubmatch(string(text), -1) {
		switch verb, pid, arg := m[1], m[2], m[3]; {
		case pid == own: // the runtime wakes its own threads, and this process asks about itself
		case pid == "4194304" && (verb == "pidfd_open" || verb == "kill" && arg == "0"):
			asked = true
		default:
			t.Errorf("system call %s", m[0])
		}
	}
	if !asked {
		t.Errorf("the trace does not show the question about process 4194304:\n%s", text)
	}
}

// A start that cannot be compared is never another start: the owner lives all the time.
func TestHostileStart(t *testing.T) {
	state := openState(t)
	holder := startHolder(t, state, nil)
	if got := holder.Ask("unlock"); got != "ok" {
		t.Fatal(got)
	}
	editRecord(t, state, func(f recordFields) {
		delete(f.proof(), "pidfd")
		withoutKernelLock(f)
	})
	content, err := os.ReadFile(state + ".lock")
	must(t, err)
	wantAlive(t, realReader, state, identity.ProcessRunning)
	for start, reason := range map[string]identity.Reason{
		`""`: identity.StartUnreadable, "null": identity.StartUnreadable,
		`"usec:1767323045.123456"`: identity.StartUnreadable,
		`"filetime:134"`:           identity.StartUnreadable,
		`"parsecs:12"`:             identity.StartUnreadable,
		"0":                        identity.RecordDamaged,
		"15234":                    identity.RecordDamaged,
		"{}":                       identity.RecordDamaged,
		`"0"`:                      identity.RecordDamaged,
		`"15234"`:                  identity.RecordDamaged,
		`"ticks:"`:                 identity.RecordDamaged,
		`"ticks:-1"`:               identity.RecordDamaged,
		`"ticks:007"`:              identity.RecordDamaged,
		`"TICKS:7"`:                identity.RecordDamaged,
		`"ticks:7 "`:               identity.RecordDamaged,
		`"ticks:1e3"`:              identity.RecordDamaged,
		`"usec:1"`:                 identity.RecordDamaged,
	} {
		putFile(t, state+".lock", with(t, content, "start", start))
		in := wantUnknown(t, realReader, state, reason)
		if reason == identity.RecordDamaged && in.Owner != nil {
			t.Errorf("start %s: owner %+v", start, in.Owner)
		}
	}
}

// A kernel lock of a kind that cannot be tested here is neither held nor free.
func TestHostileKernelLockKind(t *testing.T) {
	state := openState(t)
	good := deadRecord(t, state)
	for _, kind := range []string{`"handle"`, `"none"`, `"OFD"`} {
		putFile(t, state+".lock", with(t, good, "kernelLock", kind))
		wantUnknown(t, realReader, state, identity.KernelLockUnreadable)
	}
}

// A record with the largest number that there is cannot be overtaken: said, with nothing changed.
func TestHostileLargestFence(t *testing.T) {
	state := openState(t)
	good := deadRecord(t, state)
	putFile(t, state+".lock", with(t, good, "fence", "9007199254740991"))
	wantGone(t, realReader, state, identity.NoSuchProcess)
	before := folderFacts(t, filepath.Dir(state))
	for _, verb := range []string{"try", "recover"} {
		a := realReader(verb, state)
		if a.Got || a.Recovered != nil || !strings.Contains(a.Err, state) {
			t.Errorf("%s: %+v", verb, a)
		}
	}
	wantFolder(t, filepath.Dir(state), before)
	putFile(t, state+".lock", with(t, good, "fence", "9007199254740989"))
	wantTaken(t, realReader, state, identity.NoSuchProcess)
}
