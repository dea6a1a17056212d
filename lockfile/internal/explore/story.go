package explore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// story is what happened in a schedule, in words.
type story struct{ lines []string }

func (s *story) add(who, what string) {
	s.lines = append(s.lines, fmt.Sprintf("%4d  %-10s %s", len(s.lines)+1, who, what))
}

func (s *story) String() string { return strings.Join(s.lines, "\n") }

// operation tells of one file operation, but for those that say nothing.
func (s *story) operation(p *Proc, op *simfs.Op) {
	switch op.Kind {
	case simfs.OpOpenDir, simfs.OpCloseDir, simfs.OpSelf, simfs.OpClose, simfs.OpFstat:
		if op.Err == nil && !op.Changed {
			return
		}
	}
	var b strings.Builder
	b.WriteString(string(op.Kind) + " " + strings.TrimPrefix(op.Name, home+"/"))
	if op.To != "" {
		b.WriteString(" → " + op.To)
	}
	switch {
	case op.Err != nil:
		fmt.Fprintf(&b, ": %v", cause(op.Err))
	case op.Kind == simfs.OpWrite || op.Kind == simfs.OpAppend:
		fmt.Fprintf(&b, ": %s", excerpt(op.Data))
	case op.Kind == simfs.OpRead:
		fmt.Fprintf(&b, ": %s", excerpt(op.Bytes))
	case op.Kind == simfs.OpLocked || op.Kind == simfs.OpAlone:
		fmt.Fprintf(&b, ": %s", map[bool]string{true: "yes", false: "no"}[op.Said])
	case op.Inode != 0:
		fmt.Fprintf(&b, " (file %s)", fileName(op.Inode))
	}
	s.add(p.name, b.String())
}

// fileName tells files apart: which process made it, and its how manieth.
func fileName(inode uint64) string { return fmt.Sprintf("%d.%d", inode>>16, inode&0xffff) }

func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

func excerpt(b []byte) string {
	const most = 48
	text := strings.TrimRight(string(b), "\n")
	if at := strings.Index(text, `"lease":"`); at >= 0 {
		return "a record, lease " + text[at+9:min(len(text), at+9+16)] + "…"
	}
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
