package cli

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
)

var (
	everyStep = flag.Bool("every", false,
		"kill and fail the command at every file operation, not at a sample of them")
	sampleTimes = flag.Int("times", 1, "how many times larger that sample is")
	sampleSeed  = flag.Uint64("sample", uint64(time.Now().UnixNano()),
		"seed of the sample of file operations at which the command is killed or fails")
)

// seamEnv says what becomes of a command that is started as probate-seam: "kill VERB N", "half VERB
// N" or "trace VERB FILE". A command of another verb, such as one that run starts, is left alone. Only
// this test binary knows it.
const seamEnv = "SEAM"

func init() {
	programs["probate-seam"] = func() {
		interposeSeam(strings.Fields(os.Getenv(seamEnv)))
		programs["probate"]()
	}
	programs["abandon"] = abandonMain
}

func interposeSeam(order []string) {
	if len(order) != 3 || len(os.Args) < 2 || os.Args[1] != order[1] {
		return
	}
	switch order[0] {
	case "trace":
		f, err := os.OpenFile(order[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			panic(err)
		}
		vfs.Interpose(func(under vfs.FS) vfs.FS {
			return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
				if op.Writes {
					fmt.Fprintln(f, "half", op.N, op)
				}
				fmt.Fprintln(f, "kill", op.N, op)
				return faultfs.Action{}
			})
		})
	case "kill", "half":
		at, err := strconv.Atoi(order[2])
		if err != nil {
			panic(err)
		}
		vfs.Interpose(func(under vfs.FS) vfs.FS {
			return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
				if op.N != at {
					return faultfs.Action{}
				}
				return faultfs.Action{Half: order[0] == "half", Do: die}
			})
		})
	default:
		panic(seamEnv + " says " + strings.Join(order, " "))
	}
}

// die ends this process at once.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// abandonMain takes the locks of its arguments and dies.
func abandonMain() {
	for _, state := range os.Args[1:] {
		if _, err := lockfile.TryAcquire(state, lockfile.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	die()
}

// as returns this test binary as one of its programs.
func as(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = name
	cmd.Env = cleanEnv()
	return cmd
}

func cleanEnv(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PROBATE_") || strings.HasPrefix(kv, seamEnv+"=")
	})
	return append(env, append([]string{"GORACE=atexit_sleep_ms=0"}, more...)...)
}

// killed runs a command and reports whether it died of SIGKILL, else its exit code.
func killed(t *testing.T, cmd *exec.Cmd) (died bool, code int, said string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL, cmd.ProcessState.ExitCode(),
		string(out)
}

// desk hands out states, each in a directory of its own, whose owners are dead where that is asked
// for. One process dies for many.
type desk struct {
	t    *testing.T
	root string
	n    int
	dead []string
}

func newDesk(t *testing.T) *desk { return &desk{t: t, root: t.TempDir()} }

func (d *desk) free() string {
	d.t.Helper()
	d.n++
	dir := filepath.Join(d.root, strconv.Itoa(d.n))
	if err := os.Mkdir(dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	return filepath.Join(dir, "state")
}

func (d *desk) abandoned() string {
	d.t.Helper()
	if len(d.dead) == 0 {
		for range 24 {
			d.dead = append(d.dead, d.free())
		}
		if died, code, said := killed(d.t, as("abandon", d.dead...)); !died {
			d.t.Fatalf("abandon: exit code %d: %s", code, said)
		}
	}
	state := d.dead[0]
	d.dead = d.dead[1:]
	return state
}

// sample returns the numbers to try of n: all of them, or some.
func sample(t *testing.T, n, some int) []int {
	t.Helper()
	some *= *sampleTimes
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if *everyStep || n <= some {
		return all
	}
	t.Logf("a sample of %d of %d; the same again: -sample=%d; all: -every", some, n, *sampleSeed)
	r := rand.New(rand.NewPCG(*sampleSeed, uint64(n)))
	r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:some]
	slices.Sort(all)
	return all
}
