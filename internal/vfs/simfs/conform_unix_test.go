//go:build unix

package simfs_test

import (
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/internal/vfs/vfstest"
)

func TestConforms(t *testing.T) {
	for name, opts := range map[string]simfs.Options{
		"complete":    {},
		"no-exchange": {NoExchange: true},
		"poor": {NoExchange: true, NoRenameNoReplace: true, NoLink: true, NoUnnamed: true,
			NoAlone: true},
	} {
		t.Run(name, func(t *testing.T) {
			vfstest.Conform(t, func(t *testing.T) vfs.Dir {
				p := simfs.New(opts, 0, "/d").Process(1, 0, nil)
				d, err := p.OpenDir("/d")
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}
