package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// encode returns the bytes of the record, which are shorter than peers allow. They are those that
// encoding/json would write, without reflection: see template for how often that is needed.
func (r *record) encode() ([]byte, error) {
	e := encoder{make([]byte, 0, 640)}
	e.number("v", r.V)
	e.text("lease", r.Lease)
	e.text("owner", r.Owner)
	e.number("pid", r.PID)
	e.number("processStart", r.ProcessStart)
	e.text("hostId", r.HostID)
	e.number("bootStart", r.BootStart)
	e.number("fence", r.Fence)
	e.text("createdAt", r.CreatedAt)
	if r.Proof != nil {
		e.key("proof")
		r.Proof.encode(&e)
	}
	e.optional("program", r.Program)
	e.optional("host", r.Host)
	e.optional("label", r.Label)
	e.optional("expectedUntil", r.ExpectedUntil)
	out := e.end()
	if err := tooLong(len(out)); err != nil {
		return nil, err
	}
	return out, nil
}

// tooLong refuses records of a size that peers do not read.
func tooLong(size int) error {
	if size < maxWritten {
		return nil
	}
	return fmt.Errorf("the record would have %d bytes, at most %d are allowed: "+
		"choose a shorter Options.Label", size, maxWritten-1)
}

func (p *proof) encode(e *encoder) {
	e.text("os", p.OS)
	e.optional("boot", p.Boot)
	e.optional("start", p.Start)
	e.optionalNumber("pidfd", p.PIDFD)
	e.optionalNumber("serial", p.Serial)
	e.optionalNumber("pidns", p.PIDNS)
	e.optionalNumber("timens", p.TimeNS)
	e.key("file")
	if f := p.File; f == nil {
		e.null()
	} else {
		e.text("fs", f.FS)
		e.text("id", f.ID)
		e.key("inode")
		if f.Inode == nil {
			e.null()
		} else {
			e.b = strconv.AppendUint(e.b, *f.Inode, 10)
		}
		e.b = append(e.b, '}')
	}
	e.optional("fs", p.FS)
	if p.Local != nil {
		e.key("local")
		e.b = strconv.AppendBool(e.b, *p.Local)
	}
	e.optional("kernelLock", p.KernelLock)
	e.b = append(e.b, '}')
}

// encoder writes JSON objects: every key opens one where none is open at this place.
type encoder struct{ b []byte }

// key begins a member. The values before it end in anything but a colon.
func (e *encoder) key(name string) {
	if n := len(e.b); n == 0 || e.b[n-1] == ':' {
		e.b = append(e.b, '{')
	} else {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) null() { e.b = append(e.b, "null"...) }

func (e *encoder) text(name, s string) {
	e.key(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			e.quote(s)
			return
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, s...)
	e.b = append(e.b, '"')
}

// quote leaves what is not plain ASCII to encoding/json.
func (e *encoder) quote(s string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings can always be encoded
	e.b = append(e.b, b.Bytes()[:b.Len()-1]...)
}

func (e *encoder) optional(name, s string) {
	if s != "" {
		e.text(name, s)
	}
}

func (e *encoder) number(name string, n *int64) {
	e.key(name)
	if n == nil {
		e.null()
		return
	}
	e.b = strconv.AppendInt(e.b, *n, 10)
}

func (e *encoder) optionalNumber(name string, n *uint64) {
	if n != nil {
		e.key(name)
		e.b = strconv.AppendUint(e.b, *n, 10)
	}
}

func (e *encoder) end() []byte { return append(e.b, '}') }
