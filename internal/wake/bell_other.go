//go:build !linux

package wake

import (
	"context"
	"time"
)

// Bell is explained in bell_linux.go.
type Bell struct{}

// Listen is explained in bell_linux.go.
func Listen() *Bell { return nil }

// Close is explained in bell_linux.go.
func (b *Bell) Close() {}

// Watch is explained in bell_linux.go.
func (b *Bell) Watch(t Target) (file, process bool) { return false, false }

// Watches is explained in bell_linux.go.
func (b *Bell) Watches() bool { return false }

// Wait is explained in bell_linux.go.
func (b *Bell) Wait(ctx context.Context, d time.Duration) Woken { return TimeIsUp }

// Forget is explained in bell_linux.go.
func (b *Bell) Forget() {}
