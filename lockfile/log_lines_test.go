package lockfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	noError(t, err)
	_, err = f.WriteString(text)
	noError(t, err)
	noError(t, f.Close())
}

func readLog(t testing.TB, state string) (entries []lockfile.LogEntry, unreadable int) {
	t.Helper()
	entries, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	return entries, unreadable
}

// A takeover leaves one line that says everything.
func TestLogEntry(t *testing.T) {
	needsProof(t)
	state := newState(t)
	if entries, unreadable := readLog(t, state); len(entries)+unreadable != 0 {
		t.Errorf("no log, and yet %v, %d", entries, unreadable)
	}
	began := time.Now().Add(-time.Second)
	victim := startActor(t, state)
	id, _, _ := tenureOf(t, victim.Ask("acquire"))
	victim.Kill()
	lock := tryAcquire(t, state, lockfile.Options{})
	entries, unreadable := readLog(t, state)
	if len(entries) != 1 || unreadable != 0 {
		t.Fatalf("%d entries, %d unreadable", len(entries), unreadable)
	}
	e := entries[0]
	if e.Event != lockfile.EventTakeover || e.RecoveredPID != victim.PID() || e.LockID != id ||
		e.Fence != 1 ||
		!isDead(identity.Reason(e.Reason)) || e.Verdict != identity.Gone || e.Host == "" ||
		e.At.Before(began) ||
		e.At.After(time.Now()) ||
		len(e.Evidence) == 0 ||
		e.Evidence[0].Sentence != lock.Recovered().Finding.Evidence[0].Sentence {
		t.Errorf("%+v", e)
	}
	wantText(t, e.By, fmt.Sprint("process ", os.Getpid()))
	line := content(t, state+".recovery.log")
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Errorf("the log is %q", line)
	}
	var fields map[string]any
	noError(t, json.Unmarshal([]byte(line), &fields))
	for _, name := range []string{"at", "event", "recoveredPid", "reason", "fence", "host", "lockID",
		"by", "evidence"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s in %s", name, line)
		}
	}
}

// Lines of record-v2 peers are read with the rest; what cannot be read is counted, and a torn last
// line is ended before another is written.
func TestLogLines(t *testing.T) {
	state := newState(t)
	log := state + ".recovery.log"
	appendTo(t, log, strings.Join([]string{
		`{"at":"2026-11-30T06:39:27.914Z","recoveredPid":9447,"reason":"dead","fence":3,"host":"vm"}`,
		`{"at":1796020767791,"recoveredPid":9448,"reason":"dead","fence":4,"host":"vm"}`,
		``,
		`not JSON`,
		`{"at":"2026-11-30T06:39:27.914Z","fence":-1}`,
		`{"at":"2026-11-30T06:39:27.914Z","fence":"many"}`,
		`{"at":"2026-11-30T06:39:27.914Z"}`,
		`{"at":"2026-11-30T06:39:27.914Z","fence":9007199254740992}`,
		`{"at":"2026-11-30T06:39:27.914Z","recoveredPid":1,"fence":5,"more":{"of":["later"]}}`,
		`{"at":"2026-11-30T06:39:2`,
	}, "\n"))
	entries, unreadable := readLog(t, state)
	if len(entries) != 3 || unreadable != 6 {
		t.Fatalf("%d entries, %d unreadable: %+v", len(entries), unreadable, entries)
	}
	at := time.Date(2026, 11, 30, 6, 39, 27, 914e6, time.UTC)
	if e := entries[0]; !e.At.Equal(at) || e.Event != lockfile.EventTakeover ||
		e.RecoveredPID != 9447 ||
		e.Fence != 3 {
		t.Errorf("%+v", e)
	}
	if e := entries[1]; e.At.UnixMilli() != 1796020767791 {
		t.Errorf("%+v", e)
	}
	abandon(t, state) // nobody knew of 5: the fence begins there
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.Token() != 6 {
		t.Errorf("token %d after 5 was logged", lock.Token())
	}
	entries, unreadable = readLog(t, state)
	if len(entries) != 4 || unreadable != 6 || entries[3].Fence != 6 {
		t.Errorf("%d entries, %d unreadable: %+v", len(entries), unreadable, entries)
	}
	if text := content(t, log); !strings.Contains(text, "06:39:2\n{") ||
		!strings.HasSuffix(text, "}\n") {
		t.Errorf("the log ends in %q", text[len(text)-200:])
	}
}

// At 1 MiB the log makes room for a new one. The largest number is looked for in both, wherever it
// stands, and the files stay two.
func TestLogRolls(t *testing.T) {
	const limit = 1 << 20
	state := newState(t)
	log := state + ".recovery.log"
	line := func(fence int) string {
		return fmt.Sprintf(
			`{"at":"2026-11-30T06:39:27Z","recoveredPid":1,"reason":"dead","fence":%d,"host":"%s"}`+"\n",
			fence,
			strings.Repeat("h", 900),
		)
	}
	var b bytes.Buffer
	for n := 1; b.Len() < limit; n++ {
		b.WriteString(line(n))
	}
	appendTo(t, log, b.String())
	last := strings.Count(b.String(), "\n")
	for round := 1; round <= 2; round++ {
		abandon(t, state)
		noError(t, os.Remove(state+".fence")) // only the logs know
		lock := tryAcquire(t, state, lockfile.Options{})
		last++
		if int(lock.Token()) != last {
			t.Fatalf("round %d: token %d, want %d", round, lock.Token(), last)
		}
		noError(t, lock.Release())
		if text := content(t, log+".1"); text != b.String() {
			t.Fatalf("round %d: the older log has %d bytes, it had %d", round, len(text), b.Len())
		}
	}
	if entries, unreadable := readLog(t, state); len(entries) != last || unreadable != 0 ||
		int(entries[last-1].Fence) != last {
		t.Errorf("%d entries, %d unreadable, want %d", len(entries), unreadable, last)
	}
	// Full once more: the oldest lines go.
	appendTo(t, log, b.String())
	appendTo(t, log, line(last+7))
	abandon(t, state)
	lock := tryAcquire(t, state, lockfile.Options{})
	if int(lock.Token()) != last+8 {
		t.Errorf("token %d, want %d", lock.Token(), last+8)
	}
	noError(t, lock.Release())
	if entries, _ := readLog(t, state); int(entries[0].Fence) != last-1 ||
		int(entries[len(entries)-1].Fence) != last+8 {
		t.Errorf("from %d to %d", entries[0].Fence, entries[len(entries)-1].Fence)
	}
	noLeftovers(t, state)
}

// Something else where the log should be: nothing is followed or written, and no lock is taken over
// without a log.
func TestLogIsSomethingElse(t *testing.T) {
	for _, suffix := range []string{".recovery.log", ".recovery.log.1"} {
		for name, put := range map[string]func(t *testing.T, log string){
			"a link": func(t *testing.T, log string) {
				noError(t, os.WriteFile(log+"-victim", []byte("victim"), 0o600))
				symlink(t, log+"-victim", log)
			},
			"a dangling link": func(t *testing.T, log string) { symlink(t, log+"-victim", log) },
			"a directory":     func(t *testing.T, log string) { noError(t, os.Mkdir(log, 0o700)) },
		} {
			t.Run(suffix+" is "+name, func(t *testing.T) {
				state := newState(t)
				abandon(t, state)
				put(t, state+suffix)
				before := maybe(state + suffix + "-victim")
				lock, err := lockfile.TryAcquire(state, lockfile.Options{})
				if lock != nil || err == nil || errors.Is(err, lockfile.ErrBusy) {
					t.Fatalf("%v, %v", lock, err)
				}
				wantText(
					t,
					err.Error(),
					"recovery log",
					state+suffix,
					"not a regular file",
					"move it away",
				)
				if after := maybe(state + suffix + "-victim"); after != before {
					t.Errorf("the victim became %q", after)
				}
				if in := inspect(t, state); in.Verdict != identity.Gone ||
					in.Fence.Counter != fence.Token(0) {
					t.Errorf("%v, fence %+v", in.Finding, in.Fence)
				}
				if _, _, err := lockfile.ReadLog(state, lockfile.Options{}); err == nil {
					t.Error("it was read as a log")
				}
				noError(t, os.Remove(state+suffix))
				expect(t, startActor(t, state), "recover", "ok")
				noLeftoversBut(t, state, "state"+suffix+"-victim")
			})
		}
	}
}

// Of a log that somebody blew up only the end is read, and that is said.
func TestLogTooLarge(t *testing.T) {
	state := newState(t)
	line := `{"at":"2026-11-30T08:00:00Z","event":"takeover","recoveredPid":7,"fence":3}` + "\n"
	for before, want := range map[int64]int{0: 0, 4 << 20: 1, 20 << 20: 1} {
		noError(t, os.WriteFile(state+".recovery.log", nil, 0o600))
		noError(t, os.Truncate(state+".recovery.log", before))
		appendTo(t, state+".recovery.log", "\n"+line)
		entries, unreadable := readLog(t, state)
		if len(entries) != 1 || entries[0].Fence != 3 || unreadable != want {
			t.Errorf("%d bytes before it: %v, %d unreadable", before, entries, unreadable)
		}
	}
	noError(t, os.WriteFile(state+".recovery.log", nil, 0o600))
	noError(t, os.Truncate(state+".recovery.log", 20<<20))
	if entries, unreadable := readLog(t, state); len(entries) != 0 || unreadable != 1 {
		t.Errorf("nothing but a hole: %v, %d unreadable", entries, unreadable)
	}
}
