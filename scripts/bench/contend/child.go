package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

const childArg = "child"

// child does what the parent says, a line of answer for each line:
//
//	hold      acquires, says "held", and waits to be killed
//	contend   says "ready", waits for a byte of the pipe that all contenders share, has one
//	          tenure, and says what happened as a tally
func child(name, state string) {
	in := bufio.NewScanner(os.Stdin)
	start := os.NewFile(3, "start")
	for in.Scan() {
		switch in.Text() {
		case "hold":
			if _, err := locks[name](state); err != nil {
				fmt.Println("failed", err)
				continue
			}
			fmt.Println("held")
		case "contend":
			fmt.Println("ready")
			if _, err := start.Read(make([]byte, 1)); err != nil {
				return // the parent is gone
			}
			t, err := tenure(name, state)
			if err != nil {
				fmt.Println("failed", err)
				continue
			}
			fmt.Println(t)
		}
	}
}

// tally is what one tenure saw.
type tally struct{ tookOver, overlap, refused bool }

func (t tally) String() string {
	return fmt.Sprintf("done %t %t %t", t.tookOver, t.overlap, t.refused)
}

func parseTally(line string) (t tally, err error) {
	_, err = fmt.Sscanf(line, "done %t %t %t", &t.tookOver, &t.overlap, &t.refused)
	return t, err
}

func tenure(name, state string) (t tally, err error) {
	lock, err := locks[name](state)
	if err != nil {
		return t, err
	}
	t.tookOver = lock.tookOver
	inside := state + ".inside"
	mark, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if t.overlap = errors.Is(err, fs.ErrExist); err != nil && !t.overlap {
		return t, err
	}
	n, err := readCounter(state)
	if err != nil {
		return t, err
	}
	time.Sleep(rand.N(300 * time.Microsecond))
	if err := lock.write(state, []byte(strconv.Itoa(n+1)+"\n")); err != nil {
		return t, err
	}
	if mark != nil {
		mark.Close()
		if err := os.Remove(inside); err != nil {
			return t, err
		}
	}
	// Who finds that its lock is somebody else's by now learns it here.
	if err := lock.release(); err != nil {
		t.refused = true
		if name == nameProbate { // the others do this often
			fmt.Fprintf(os.Stderr, "%s: release: %v\n", name, err)
		}
	}
	return t, nil
}

func readCounter(state string) (int, error) {
	text, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
