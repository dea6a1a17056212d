package lockfile

import (
	"errors"
	"path/filepath"

	"github.com/probate-dev/probate/internal/vfs"
)

// Capabilities says what the filesystem of a directory can do for locks.
type Capabilities struct {
	Filesystem string `json:"filesystem"` // type, or why it is not known
	Local      bool   `json:"local"`      // only this kernel mounts it
	KernelLock string `json:"kernelLock"` // kind of the kernel lock, "none" for none
	OneStep    bool   `json:"oneStep"`    // a record is published complete in one step
	Publish    string `json:"publish"`    // how: rename, link, or "create and write"
	Exchange   bool   `json:"exchange"`   // two names can be exchanged in one step
	Flush      bool   `json:"flush"`      // files and directories can be flushed
}

// CapabilitiesOf tries out what the filesystem of the existing directory dir can do, with temporary
// files of its own that it removes.
func CapabilitiesOf(dir string, opts Options) (Capabilities, error) {
	const op = "capabilities"
	p, err := openPlace(op, filepath.Join(dir, "probate-try"), &opts)
	if err != nil {
		return Capabilities{}, err
	}
	defer p.close()
	c := Capabilities{Filesystem: p.fs.Type.String(), Local: p.fs.Local, KernelLock: "none"}
	a, b := p.tempName(), p.tempName()
	f, err := p.dir.Create(a, defaultMode)
	if err != nil {
		return c, p.failed(op, "create a file", a, err)
	}
	defer func() {
		_ = f.Close()
		_ = p.dir.Remove(a)
		_ = p.dir.Remove(b)
	}()
	if _, err := f.WriteAt([]byte("probate"), 0); err != nil {
		return c, p.failed(op, "write a file", a, err)
	}
	if err := f.Lock(vfs.NativeLock()); err == nil {
		c.KernelLock = string(vfs.NativeLock())
	} else if !errors.Is(err, errors.ErrUnsupported) {
		return c, p.failed(op, "take a kernel lock", a, err)
	}
	c.Flush = f.Sync() == nil && p.dir.Sync() == nil
	c.Publish = "create and write"
	if p.dir.RenameNoReplace(a, b) == nil {
		c.Publish, c.OneStep = "rename", true
		_ = p.dir.RenameNoReplace(b, a)
	} else if p.dir.Link(a, b) == nil {
		c.Publish, c.OneStep = "link", true
		_ = p.dir.Remove(b)
	}
	if g, err := p.dir.Create(b, defaultMode); err == nil {
		_ = g.Close()
		c.Exchange = p.dir.Exchange(a, b) == nil
	}
	return c, nil
}
