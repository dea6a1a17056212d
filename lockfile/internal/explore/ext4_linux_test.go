package explore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// A power cut on a real file system: processes write through the lock on an ext4 image, are killed
// and take over; at some moment all are stopped as they are, in the middle of whatever they do; the
// image is copied while it is mounted; and the copy is mounted, which replays its journal. What the
// kernel had not written to the image by then is gone in the copy, as after a power cut.

const writerEnv = "EXPLORE_EXT4_WRITER"

var ext4Rounds = flag.Int("explore.ext4", 5, "power cuts on a real ext4")

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := writer(path); err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writer updates a state for ever, and says what it does.
func writer(path string) error {
	for i := 0; ; i++ {
		opts := lockfile.Options{FreshToken: i%3 == 0}
		if i%5 == 0 {
			opts.Durability = lockfile.FlushFirst
		}
		lock, err := lockfile.Acquire(context.Background(), path, opts)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		n := number(text) + 1
		fmt.Println("holds", lock.Token())
		fmt.Println("writes", n)
		if err := lock.WriteFile(path, content(n), 0o600); err != nil {
			return err
		}
		fmt.Println("wrote", n)
		if err := lock.Release(); err != nil {
			return err
		}
	}
}

// content is long enough to be torn, and says so.
func content(n int) []byte {
	return fmt.Appendf(bytes.Repeat(fmt.Appendf(nil, "%d by a writer\n", n), 700), "end of %d\n", n)
}

// storm are writers, and what they have said.
type storm struct {
	t                   *testing.T
	state               string
	exe                 string
	children            []*exec.Cmd
	handed, began, done atomic.Int64
	wrote               chan bool     // something was written
	broken              chan struct{} // a writer cannot go on
}

func (s *storm) start() {
	cmd := exec.Command(s.exe)
	cmd.Env = append(os.Environ(), writerEnv+"="+s.state)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.children = append(s.children, cmd)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			what, text, _ := strings.Cut(lines.Text(), " ")
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				s.t.Errorf("a writer says %q", lines.Text())
				close(s.broken)
				return
			}
			most := map[string]*atomic.Int64{"holds": &s.handed, "writes": &s.began,
				"wrote": &s.done}[what]
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			select {
			case s.wrote <- true:
			default:
			}
		}
	}()
}

// kill ends one writer and starts another: somebody has to take over.
func (s *storm) kill(i int) {
	s.signal(s.children[i], syscall.SIGKILL)
	_ = s.children[i].Wait()
	s.children = append(s.children[:i], s.children[i+1:]...)
	s.start()
}

func (s *storm) signal(cmd *exec.Cmd, sig syscall.Signal) {
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
}

func (s *storm) end() {
	for _, cmd := range s.children {
		s.signal(cmd, syscall.SIGKILL)
		_ = cmd.Wait()
	}
}

// until waits until the writers have written so many updates.
func (s *storm) until(n int64) {
	for s.done.Load() < n {
		select {
		case <-s.wrote:
		case <-s.broken:
			s.t.FailNow()
		}
	}
}

func TestPowerCutOnExt4(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount an image")
	}
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	if why := mountNew(image, at); why != "" {
		t.Skip(why)
	}
	defer run("umount", at)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &storm{t: t, state: filepath.Join(at, "state"), exe: exe, wrote: make(chan bool, 1),
		broken: make(chan struct{})}
	defer s.end()
	for range 3 {
		s.start()
	}
	rounds := *ext4Rounds
	if testing.Short() {
		rounds = 1
	}
	goal := int64(0)
	for round := range rounds {
		goal = s.done.Load() + 5 + rand.Int64N(20)
		s.until(goal)
		s.kill(rand.IntN(len(s.children)))
		s.until(s.done.Load() + rand.Int64N(4))
		// Read before everybody is stopped: what counts as acknowledged was said by then.
		acked, handed := s.done.Load(), s.handed.Load()
		for _, cmd := range s.children {
			s.signal(cmd, syscall.SIGSTOP)
		}
		copied := filepath.Join(dir, "copy")
		if err := copyAtOneMoment(image, copied); err != nil {
			t.Fatal(err)
		}
		for _, cmd := range s.children {
			s.signal(cmd, syscall.SIGCONT)
		}
		s.check(round, copied, filepath.Join(dir, "after"), acked, handed)
		if t.Failed() {
			return
		}
	}
}

// check mounts a copy and looks whether what was acknowledged is there.
func (s *storm) check(round int, image, at string, acked, handed int64) {
	if out, err := run("mount", "-o", "loop", image, at); err != nil {
		s.t.Fatalf("the copy cannot be mounted: %v: %s", err, out)
	}
	defer run("umount", at)
	path := filepath.Join(at, "state")
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	n := number(text)
	if int64(n) < acked || !bytes.Equal(text, content(n)) {
		s.t.Errorf("update %d was acknowledged, and after the cut there is %d (whole: %v)", acked, n,
			bytes.Equal(text, content(n)))
		return
	}
	lock, err := lockfile.TryAcquire(path, lockfile.Options{System: rebooted{probe.Real()}})
	if err != nil {
		s.t.Errorf("nobody can acquire after the cut: %v", err)
		return
	}
	was, recovered := int64(lock.Token()), lock.Recovered()
	if was < handed || recovered != nil && was <= handed {
		s.t.Errorf("number %d was handed out before the cut, and %d after it", handed, was)
	}
	if err := errors.Join(lock.WriteFile(path, content(n+1), 0o600), lock.Release()); err != nil {
		s.t.Error(err)
	}
	how := "the lock was free"
	if recovered != nil {
		how = "taken over: " + recovered.Finding.Sentence
	}
	s.t.Logf("cut %d: %d acknowledged, %d found, number %d; %s", round, acked, n, was, how)
}

// rebooted is this machine after a restart.
type rebooted struct{ probe.System }

func (r rebooted) Host() probe.Host {
	h := r.System.Host()
	h.Boot.ID = probe.Known("01234567-89ab-4cde-8f01-23456789abcd", "another boot")
	return h
}

// mountNew makes and mounts an ext4, and returns why it cannot.
func mountNew(image, at string) string {
	f, err := os.Create(image)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if err := f.Truncate(24 << 20); err != nil {
		return err.Error()
	}
	for _, dir := range []string{at, filepath.Join(filepath.Dir(at), "after")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err.Error()
		}
	}
	if out, err := run("mkfs.ext4", "-q", "-F", image); err != nil {
		return "no ext4 can be made: " + out
	}
	if out, err := run("mount", "-o", "loop", image, at); err != nil {
		return "no image can be mounted: " + out
	}
	return ""
}

func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// copyAtOneMoment copies a file that is written to meanwhile, until two copies in a row are the
// same: then there was a moment between them at which it was this.
func copyAtOneMoment(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	var last []byte
	for range 1000 {
		now, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
		if err != nil {
			return err
		}
		if last != nil && bytes.Equal(now, last) {
			return os.WriteFile(to, now, 0o600)
		}
		last = now
	}
	return errors.New("the image changes all the time")
}
