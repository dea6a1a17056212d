package lockfile

import "time"

// settleAfter is how long a tenure lasts before its record is worth a flush, and before the
// descriptors are worth closing that only its end needs again.
const settleAfter = 5 * time.Millisecond

// settleLater flushes the record once the tenure has lasted a while: a torn record after a power
// cut is a nuisance, not a danger, so that short tenures need not pay for it. From then on an idle
// lock keeps one descriptor.
func (l *Lock) settleLater() {
	if all := l.p.in.settling; all != nil {
		all.put(&l.settling, l, l.d.since)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle = l.p.in.Later(settleAfter, l.errand)
}

// errand is run for settleLater.
func (l *Lock) errand() {
	if l.p.opts.Durability == FlushLater && l.p.fs.Local {
		_ = l.d.file.Sync()
	}
	l.p.rest(l.d.file)
}
