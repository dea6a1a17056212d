package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	nightlyone "github.com/nightlyone/lockfile"

	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/statefile"
)

// keeper is one way to keep a count in a folder so that an addition that was acknowledged survives a
// power cut: the file and the directory are flushed. add adds one, and returns false when the lock is
// somebody else's. total reads the count back.
type keeper struct {
	name   string
	shared bool // by several processes
	open   func(dir string) (add func() (bool, error), err error)
	total  func(dir string) (int, error)
}

// keepers begin with what needs no lock, because nobody else writes.
var keepers = []keeper{
	{"replace", false, func(dir string) (func() (bool, error), error) {
		return func() (bool, error) { return true, addInFile(dir) }, nil
	}, countInFile},
	{"record-v2", true, nil, countInFile}, // in JavaScript
	{"nightlyone", true, func(dir string) (func() (bool, error), error) {
		lock, err := nightlyone.New(filepath.Join(dir, "state.pid"))
		return func() (bool, error) {
			if lock.TryLock() != nil {
				return false, nil
			}
			err := addInFile(dir)
			return true, errors.Join(err, lock.Unlock())
		}, err
	}, countInFile},
	{"statefile", true, func(dir string) (func() (bool, error), error) {
		file := statefile.Open[counted](filepath.Join(dir, "state"), statefile.Options{})
		return func() (bool, error) {
			_, err := file.Update(context.Background(), func(c counted) (counted, error) {
				c.Count++
				return c, nil
			})
			return true, err
		}, nil
	}, countInFile},
	{"docs", true, func(dir string) (func() (bool, error), error) {
		store, err := docs.OpenFolder(dir, docs.FolderOptions{})
		return func() (bool, error) {
			_, err := docs.Update(context.Background(), store, "state",
				func(old docs.Document) (json.RawMessage, error) {
					var now counted
					if old.Version != docs.Absent {
						if err := json.Unmarshal(old.Value, &now); err != nil {
							return nil, err
						}
					}
					now.Count++
					return json.Marshal(now)
				})
			return true, err
		}, err
	}, func(dir string) (int, error) {
		store, err := docs.OpenFolder(dir, docs.FolderOptions{})
		if err != nil {
			return 0, err
		}
		doc, err := store.Load(context.Background(), "state")
		if err != nil {
			return 0, err
		}
		var now counted
		err = json.Unmarshal(doc.Value, &now)
		return now.Count, err
	}},
	{"ops", true, func(dir string) (func() (bool, error), error) {
		store, err := openOperations(dir)
		if err != nil {
			return nil, err
		}
		ctx, name := context.Background(), strconv.Itoa(os.Getpid())
		op, _, err := store.Begin(ctx, ops.Request{ID: name, Environment: name, Data: counted{}})
		now := counted{}
		return func() (bool, error) {
			now.Count++
			var err error
			op, err = store.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Data: now})
			return true, err
		}, err
	}, func(dir string) (sum int, err error) {
		store, err := openOperations(dir)
		if err != nil {
			return 0, err
		}
		for op, err := range store.All() {
			var now counted
			if err == nil {
				err = op.Decode(&now)
			}
			if err != nil {
				return 0, err
			}
			sum += now.Count
		}
		return sum, nil
	}},
}

func openOperations(dir string) (*ops.Folder, error) {
	return ops.Open(dir, ops.Phases{
		Initial:  "counting",
		Next:     map[ops.Phase][]ops.Phase{"counting": {"done"}},
		Terminal: []ops.Phase{"done"},
	}, ops.Options{})
}

// addInFile adds one with a durable replace, and without a lock.
func addInFile(dir string) error {
	path := filepath.Join(dir, "state")
	n, err := countInFile(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text, err := json.Marshal(counted{n + 1})
	if err != nil {
		return err
	}
	return replaceDurably(path, text)
}

func countInFile(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		return 0, err
	}
	var now counted
	err = json.Unmarshal(text, &now)
	return now.Count, err
}

func init() { children["keep"] = keep }

// keep adds to a count for a time, begun by a line of input: KEEPER FOLDER SECONDS.
func keep(args []string) error {
	seconds, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		return err
	}
	var add func() (bool, error)
	for _, k := range keepers {
		if k.name == args[0] {
			if add, err = k.open(args[1]); err != nil {
				return err
			}
		}
	}
	if err := ready(); err != nil {
		return err
	}
	done, busy, before := 0, 0, processorTime()
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		mine, err := add()
		if err != nil {
			return err
		}
		if mine {
			done++
		} else {
			busy++
			time.Sleep(time.Millisecond) // as those do whose lock cannot wait
		}
	}
	tell(done, busy, int64(processorTime()-before))
	return nil
}

// BenchmarkStores has one process, and then four, add to one count in each of the stores, as the
// record-v2 programs do it, and as it is done without a store: all of them flush the file and the
// directory. In the store of operations each process has an operation of its own, and they share the
// lock. The stores keep the previous version besides (not docs). No addition may be lost.
func BenchmarkStores(b *testing.B) {
	node, noNode := exec.LookPath("node")
	for _, processes := range []int{1, 4} {
		for _, k := range keepers {
			if processes > 1 && !k.shared {
				continue
			}
			b.Run(fmt.Sprintf("processes=%d/side=%s", processes, k.name), func(b *testing.B) {
				seconds, dir := 0.5*float64(b.N), b.TempDir()
				arg := fmt.Sprint(seconds)
				all := startTogether(b, processes, func() *child {
					switch {
					case k.open != nil:
						return startChild(b, "keep", k.name, dir, arg)
					case noNode != nil:
						b.Skip("there is no Node here")
					}
					return startRecordV2(b, node, filepath.Join(dir, "state"), arg,
						"flush-directory")
				})
				sum, cpu := 0, int64(0)
				for _, c := range all {
					var done, busy int
					var spent int64
					if _, err := fmt.Sscan(c.line(b), &done, &busy, &spent); err != nil {
						b.Fatal(err)
					}
					sum, cpu = sum+done, cpu+spent
				}
				if n, err := k.total(dir); err != nil || n != sum {
					b.Fatalf("%d additions, and the count is %d: %v", sum, n, err)
				}
				b.ReportMetric(float64(sum)/seconds, "turns/s")
				b.ReportMetric(float64(cpu)/float64(sum), "cpu-ns/turn")
			})
		}
	}
}
