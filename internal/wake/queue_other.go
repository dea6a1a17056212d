//go:build !linux

package wake

import (
	"context"
	"time"
)

// Queue is explained in queue_linux.go.
type Queue struct{}

// Waiting is explained in queue_linux.go.
func Waiting(dir uintptr, name string) (longest time.Duration, is bool) { return 0, false }

// Join is explained in queue_linux.go.
func Join(dir uintptr, name string) *Queue { return nil }

// Leave is explained in queue_linux.go.
func (q *Queue) Leave() {}

// Position is explained in queue_linux.go.
func (q *Queue) Position() Position { return Position{} }

// Listen is explained in nudge_linux.go.
func (q *Queue) Listen() bool { return false }

// Deafen is explained in nudge_linux.go.
func (q *Queue) Deafen() {}

// Sleep is explained in nudge_linux.go.
func (q *Queue) Sleep(ctx context.Context, d time.Duration) bool { return false }

// Nudge is explained in nudge_linux.go.
func (q *Queue) Nudge() {}
