package probetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

var errNoProcess = errors.New("no such process")

// childEnv names the function that the test binary runs instead of its tests.
const childEnv = "PROBETEST_CHILD"

var children = map[string]func(*Peer){}

func init() {
	// Locked in init, the main goroutine keeps the first thread of the process for itself: child
	// functions can end it, or change the credentials and namespaces of the whole process from it.
	if os.Getenv(childEnv) != "" {
		runtime.LockOSThread()
	}
}

// Register gives a name to a function that children run. Call it in an init function.
func Register(name string, run func(*Peer)) {
	if name == "" || children[name] != nil {
		panic("probetest: child " + name + " registered twice, or without a name")
	}
	children[name] = run
}

// Run runs the tests, or in a child the function that it was started for. Call it in TestMain, and
// nothing before it.
func Run(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	run := children[name]
	if run == nil {
		fmt.Fprintf(os.Stderr, "probetest: no child %q is registered in %s\n", name, os.Args[0])
		os.Exit(2)
	}
	os.Unsetenv(childEnv) // children of the child are programs of their own
	p := &Peer{args: os.Args[1:], lines: make(chan string, 64)}
	go p.receive()
	run(p)
	p.cleanUp()
	os.Exit(0)
}

// Peer is a child's view of its parent.
type Peer struct {
	args  []string
	lines chan string

	mu       sync.Mutex // one line at a time
	cleanups []func()
}

// Args returns the arguments that Start was given.
func (p *Peer) Args() []string { return p.args }

// Arg returns argument i, or ends the child when it was not given.
func (p *Peer) Arg(i int) string {
	if i >= len(p.args) {
		p.Fatalf("argument %d is missing", i)
	}
	return p.args[i]
}

// receive reads what the parent sends. When the parent closes the pipe or dies, the child ends,
// whatever it is doing.
func (p *Peer) receive() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		p.lines <- strings.TrimSuffix(line, "\n")
	}
}

// Send sends a line to the parent.
func (p *Peer) Send(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintf(os.Stdout, "%s\n", oneLine(line)); err != nil {
		os.Exit(3) // the parent is gone
	}
}

// SendJSON sends a value to the parent, for Child.JSON.
func (p *Peer) SendJSON(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Send(string(text))
}

// Line waits for the next line of the parent.
func (p *Peer) Line() string { return <-p.lines }

// Expect waits for a line and ends the child with an error when it is another one.
func (p *Peer) Expect(want string) {
	if got := p.Line(); got != want {
		p.Fatalf("the parent said %q instead of %q", got, want)
	}
}

// Wait waits until the parent ends the child.
func (p *Peer) Wait() { select {} }

// Helper does nothing. With it a Peer is a [TB], and children can start children.
func (p *Peer) Helper() {}

// Logf writes to standard error.
func (p *Peer) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "probetest: child: "+format+"\n", args...)
}

// Cleanup registers a function to be called when the child's own function has returned.
func (p *Peer) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *Peer) cleanUp() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

// Fatalf ends the child with a message on standard error and exit code 1.
func (p *Peer) Fatalf(format string, args ...any) {
	p.Logf(format, args...)
	os.Exit(1)
}

// Check ends the child with a message when err is not nil.
func (p *Peer) Check(err error) {
	if err != nil {
		_, file, line, _ := runtime.Caller(1)
		p.Fatalf("%s:%d: %v", file, line, err)
	}
}

func oneLine(line string) string {
	if strings.ContainsAny(line, "\n") {
		panic("probetest: a message must be one line")
	}
	return line
}
