package ops

import (
	"fmt"
	"os"
	"path/filepath"
)

// SetHook lets a test stop, or fail, a store before every step that changes something on disk.
func (f *Folder) SetHook(hook func(step string) error) { f.hook = hook }

// Fabricate puts n finished operations into the store, of one environment, as if they had been done
// there, and archived a part of them.
func (f *Folder) Fabricate(n, archived int) error {
	for _, dir := range folders {
		if err := os.MkdirAll(filepath.Join(f.dir, dir), 0o700); err != nil {
			return err
		}
	}
	me, err := stampNow()
	if err != nil {
		return err
	}
	put := func(name string, data []byte, err error) error {
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(f.dir, filepath.FromSlash(name)), data, 0o600)
	}
	for i := range n {
		op := f.phases.begin(asked{id: fmt.Sprint("old ", i), environment: "old", digest: "d"}, me)
		op.Phase = f.phases.Terminal[0]
		dir := dirFinished
		if i < archived {
			dir = dirArchive
		}
		data, err := encodeFile(kindOperation, stored{Operation: op})
		if err := put(operationFile(dir, op.ID), data, err); err != nil {
			return err
		}
		data, err = encodeFile(kindRequest,
			request{ID: op.ID, Environment: op.Environment, Digest: op.Digest})
		if err := put(requestFile(op.ID), data, err); err != nil {
			return err
		}
	}
	return nil
}
