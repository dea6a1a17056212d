package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/refusal"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

const (
	docSuffix     = ".doc.json"
	deletedSuffix = ".doc.deleted"
	fenceSuffix   = docSuffix + ".fence"
	defaultMode   = 0o600
	defaultMax    = 64 << 20
)

// FolderOptions say how to write. The zero value is right for most uses.
type FolderOptions struct {
	// Lock is how locks are taken: their label, hooks, logger, durability and limits.
	Lock lockfile.Options
	// Mode is the permission of new files, 0600 when zero. One that exists keeps its own, and its
	// owner where this process may give files away. Users who share a folder need it in Mode and in
	// Lock.Mode: 0660 for a group.
	Mode fs.FileMode
	// MaxBytes is how large a file may be to be read and written, 64 MiB when zero.
	MaxBytes int64
}

// Folder is a Store in a folder: a file KEY.doc.json for every document, with a lock of its own. It
// keeps nothing open: any number of them, in any number of processes, may stand for one folder.
type Folder struct {
	dir  string
	opts FolderOptions
}

// OpenFolder returns the store in the folder dir, which must exist.
func OpenFolder(dir string, opts FolderOptions) (*Folder, error) {
	fail := func(step string, err error, next string) (*Folder, error) {
		e := Explain(opOpen, "", dir, step, err)
		e.Next = next
		return nil, e
	}
	if m := opts.Mode; m&^fs.ModePerm != 0 || m != 0 && m&0o600 != 0o600 {
		return fail("check the options", fmt.Errorf("FolderOptions.Mode %#o must be permission "+
			"bits with 0600 among them", uint32(m)), "change the program")
	}
	if opts.MaxBytes < 0 {
		return fail("check the options", fmt.Errorf("FolderOptions.MaxBytes %d is negative",
			opts.MaxBytes), "change the program")
	}
	if opts.Mode == 0 {
		opts.Mode = defaultMode
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = defaultMax
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return fail("look at the folder", refusal.Cause(err), "create the folder first")
	}
	full, err := filepath.Abs(dir) // whatever becomes of the working directory
	if err != nil {
		return fail("look at the folder", err, "name it by its absolute path")
	}
	return &Folder{dir: full, opts: opts}, nil
}

// Dir returns the folder, as an absolute path.
func (f *Folder) Dir() string { return f.dir }

// Path returns the path of a document's file.
func (f *Folder) Path(key string) string { return filepath.Join(f.dir, key+docSuffix) }

func (f *Folder) deleted(key string) string { return filepath.Join(f.dir, key+deletedSuffix) }

// begin is the begin of every store, and what the names of files here do not allow.
func (f *Folder) begin(ctx context.Context, op, key string) error {
	if err := begin(ctx, op, key, f.Path(key)); err != nil {
		return err
	}
	if !filepath.IsLocal(key + docSuffix) { // CON.doc.json is the console of Windows
		return Explain(op, key, f.Path(key), "check the key",
			fmt.Errorf("%w: the system takes %s for a device", ErrKey, key+docSuffix))
	}
	return nil
}

// Load is explained at Store. It waits for nobody, and sees the whole of one version.
func (f *Folder) Load(ctx context.Context, key string) (Document, error) {
	if err := f.begin(ctx, opLoad, key); err != nil {
		return Document{}, err
	}
	d, err := f.newest(opLoad, key)
	if err == nil && d.Version == Absent {
		err = Explain(opLoad, key, f.Path(key), "read the document", ErrMissing)
	}
	if err != nil {
		return Document{}, err
	}
	return d, nil
}

// newest reads the document. One that does not exist has the version Absent.
func (f *Folder) newest(op, key string) (Document, error) {
	path := f.Path(key)
	data, err := wholefile.Read(path, f.opts.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Document{Key: key}, nil
	}
	if err != nil {
		return Document{}, Explain(op, key, path, "read the document", refusal.Cause(err))
	}
	if name, err := spelled(f.dir, key+docSuffix); err != nil {
		return Document{}, Explain(op, key, path, "read its name", refusal.Cause(err))
	} else if name != key+docSuffix {
		return Document{}, Explain(op, key, path, "compare its name",
			fmt.Errorf("%w: this folder cannot tell it from %q", ErrKey,
				strings.TrimSuffix(name, docSuffix)))
	}
	version, value, err := decode(data)
	if err != nil {
		// A program that writes in place may have been seen half-way.
		again, readErr := wholefile.Read(path, f.opts.MaxBytes)
		if readErr == nil && !slices.Equal(again, data) {
			version, value, err = decode(again)
		}
	}
	if err != nil {
		return Document{}, Explain(op, key, path, "decode the document", err)
	}
	return Document{Key: key, Version: version, Value: value}, nil
}

// List is explained at Store. Files that are not KEY.doc.json are nobody's business.
func (f *Folder) List(ctx context.Context) ([]string, error) {
	if err := begin(ctx, opList, "", f.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, Explain(opList, "", f.dir, "read the folder", refusal.Cause(err))
	}
	seen := map[string]bool{}
	var keys, doubtful []string
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), docSuffix); ok && CheckKey(key) == nil &&
			!e.IsDir() {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		} else if key, ok := strings.CutSuffix(e.Name(), fenceSuffix); ok && CheckKey(key) == nil {
			doubtful = append(doubtful, key)
		}
	}
	// A file that is replaced while the folder is read may be passed over. Its fence never is: it
	// stays where it was made.
	for _, key := range doubtful {
		if seen[key] {
			continue
		}
		if info, err := os.Lstat(f.Path(key)); err == nil && !info.IsDir() {
			keys = append(keys, key)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, Explain(opList, "", f.dir, "look at "+key+docSuffix, refusal.Cause(err))
		}
	}
	slices.Sort(keys)
	return keys, nil
}

var _ Store = (*Folder)(nil)
var _ Store = (*Memory)(nil)
