package lockfile

// decodeCanonical decodes a record in the only form in which this toolkit writes it: see
// record.encode. It makes no sense of anything else, and is not asked to: ok is false, and the
// strict decoder says what it is. What it decodes is what that would decode.
func decodeCanonical(content []byte) (r *record, ok bool) {
	var all struct { // in one piece
		record record
		proof  proof
		file   proofFile

		v, pid, processStart, bootStart, fence int64
		pidfd, serial, pidns, timens, inode    uint64
		local                                  bool
	}
	d := canonical{text: string(content)}
	r = &all.record
	r.V, r.PID, r.ProcessStart = &all.v, &all.pid, &all.processStart
	r.BootStart, r.Fence = &all.bootStart, &all.fence
	d.number(`{"v":`, &all.v)
	d.string(`,"lease":"`, &r.Lease)
	d.string(`,"owner":"`, &r.Owner)
	d.number(`,"pid":`, &all.pid)
	d.number(`,"processStart":`, &all.processStart)
	d.string(`,"hostId":"`, &r.HostID)
	d.number(`,"bootStart":`, &all.bootStart)
	d.number(`,"fence":`, &all.fence)
	d.string(`,"createdAt":"`, &r.CreatedAt)
	if d.has(`,"proof":{`) {
		p := &all.proof
		r.Proof, p.File = p, &all.file
		p.File.Inode = &all.inode
		d.string(`"os":"`, &p.OS)
		d.optional(`,"boot":"`, &p.Boot)
		d.optional(`,"start":"`, &p.Start)
		p.PIDFD = d.optionalNumber(`,"pidfd":`, &all.pidfd)
		p.Serial = d.optionalNumber(`,"serial":`, &all.serial)
		p.PIDNS = d.optionalNumber(`,"pidns":`, &all.pidns)
		p.TimeNS = d.optionalNumber(`,"timens":`, &all.timens)
		d.string(`,"file":{"fs":"`, &p.File.FS)
		d.string(`,"id":"`, &p.File.ID)
		d.must(`,"inode":`)
		all.inode = d.digits()
		d.must(`}`)
		d.optional(`,"fs":"`, &p.FS)
		if d.has(`,"local":`) {
			p.Local = &all.local
			if all.local = d.has(`true`); !all.local {
				d.must(`false`)
			}
		}
		d.optional(`,"kernelLock":"`, &p.KernelLock)
		d.must(`}`)
	}
	d.optional(`,"program":"`, &r.Program)
	d.optional(`,"host":"`, &r.Host)
	d.optional(`,"label":"`, &r.Label)
	d.optional(`,"expectedUntil":"`, &r.ExpectedUntil)
	d.must(`}`)
	return r, !d.failed && d.text == ""
}

// canonical takes a text apart from its beginning. Once something is not as expected it has failed.
type canonical struct {
	text   string // what is left
	failed bool
}

// has takes what from the text, if that goes on with it.
func (d *canonical) has(what string) bool {
	if len(d.text) < len(what) || d.text[:len(what)] != what {
		return false
	}
	d.text = d.text[len(what):]
	return true
}

func (d *canonical) must(what string) {
	if !d.has(what) {
		d.failed = true
	}
}

// string takes a key with the quote behind it, and a string of plain ASCII without escapes.
func (d *canonical) string(key string, to *string) {
	d.must(key)
	for i := range len(d.text) {
		c := d.text[i]
		if c == '"' {
			*to, d.text = d.text[:i], d.text[i+1:]
			return
		}
		if c < ' ' || c >= 0x7f || c == '\\' {
			break
		}
	}
	d.failed = true
}

func (d *canonical) optional(key string, to *string) {
	if len(d.text) >= len(key) && d.text[:len(key)] == key {
		d.string(key, to)
	}
}

func (d *canonical) number(key string, to *int64) {
	d.must(key)
	*to = int64(d.digits())
}

func (d *canonical) optionalNumber(key string, to *uint64) *uint64 {
	if !d.has(key) {
		return nil
	}
	*to = d.digits()
	return to
}

// digits takes a number that is canonical and fits in any integer of 63 bits.
func (d *canonical) digits() (n uint64) {
	const longest = 18
	i := 0
	for i < len(d.text) && '0' <= d.text[i] && d.text[i] <= '9' {
		n = n*10 + uint64(d.text[i]-'0')
		i++
	}
	if i == 0 || i > longest || i > 1 && d.text[0] == '0' {
		d.failed = true
	}
	d.text = d.text[i:]
	return n
}
