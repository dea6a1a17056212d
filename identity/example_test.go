package identity_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe/probetest"
)

// Who this process is, in a form that fits into a log line.
func ExampleCurrent() {
	me, err := identity.Current()
	if err != nil {
		log.Fatal(err)
	}
	var read identity.Identity
	if err := read.UnmarshalText([]byte(me.String())); err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.PID == os.Getpid())
	// Output: true
}

// A store keeps who works on a job. Whoever finds the job later takes it over only when that very
// process is provably gone.
func ExampleJudge() {
	type job struct {
		Name   string            `json:"name"`
		Worker identity.Identity `json:"worker"`
	}
	me, err := identity.Current()
	if err != nil {
		log.Fatal(err)
	}
	stored, err := json.Marshal(job{"import", me})
	if err != nil {
		log.Fatal(err)
	}

	var found job
	if err := json.Unmarshal(stored, &found); err != nil {
		log.Fatal(err)
	}
	switch f := identity.Judge(found.Worker); f.Verdict {
	case identity.Gone:
		fmt.Println("resume", found.Name)
	default: // alive, or not provable from here: f says why
		fmt.Println("leave", found.Name, "alone")
	}
	// Output: leave import alone
}

// What happens in the life of a process can be played through on a scripted system.
func ExampleJudgeOn() {
	sys := probetest.New()
	sys.Add(probetest.Process(4711, 15234))
	worker, err := identity.OfOn(sys, 4711)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(identity.JudgeOn(sys, worker))

	sys.Add(probetest.Process(4711, 90001)) // the number went to another process
	f := identity.JudgeOn(sys, worker)
	fmt.Println(f)
	fmt.Println(f.Reason)

	sys.Remove(4711)
	fmt.Println(identity.JudgeOn(sys, worker))

	elsewhere := probetest.New()
	elsewhere.HostFacts.Boot.ID.Value = "fedcba98-7654-4321-8fed-cba987654321"
	fmt.Println(identity.JudgeOn(elsewhere, worker))
	// Output:
	// alive: process 4711 (scripted) is running
	// gone: process 4711 (scripted) is gone: another process has the number now
	// pid-reused
	// gone: process 4711 (scripted) does not exist any more
	// unknown: the record was written under another boot
}
