package lockfile

import "context"

// Context returns a context that ends when the lock does: with a cause that matches ErrLost when it
// was lost (ErrFenced when somebody took it over or broke it), with ErrReleased after Release. A
// loss is noticed at every Check and commit; in between at once on Linux, where the system tells of
// changes of the files of the lock, and within about 200 ms elsewhere.
func (l *Lock) Context() context.Context {
	l.watch()
	return l.context()
}

// context returns the context of the lock, and makes it for who is the first to ask.
func (l *Lock) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.Background())
		if l.over != nil {
			l.cancel(l.over)
		}
	}
	return l.ctx
}

// finish ends the context, also one that is made only later. The first cause counts.
func (l *Lock) finish(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.over = cause
	}
	if l.cancel != nil {
		l.cancel(l.over)
	}
}
