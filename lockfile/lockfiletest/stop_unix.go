//go:build unix && !aix

package lockfiletest

// Stop stops the process with SIGSTOP: it is alive, whatever it looks like, and keeps its lock.
func (h *Holder) Stop() {
	h.tb.Helper()
	h.child.Stop()
}

// Cont lets a stopped process go on.
func (h *Holder) Cont() {
	h.tb.Helper()
	h.child.Cont()
}
