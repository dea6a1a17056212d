package ops

import (
	"context"
	"iter"
)

// Store keeps operations. Folder is the one on disk, Memory the one for tests; package opstest
// checks others. The methods are explained at Folder.
type Store interface {
	Begin(ctx context.Context, r Request) (op Operation, begun bool, err error)
	Get(id string) (Operation, error)
	CompareAndSwap(ctx context.Context, id string, expected Revision, c Change) (Operation, error)
	RecordOwned(ctx context.Context, id string, expected Revision, resources ...Resource) (
		Operation, error)
	RecordEffects(ctx context.Context, id string, expected Revision, effects ...Effect) (
		Operation, error)
	Accept(ctx context.Context, r Receipt) (op Operation, duplicate bool, err error)
	Claim(ctx context.Context, id string, expected Revision, t Takeover) (Operation, error)
	Recoverable() iter.Seq2[Recovery, error]
	All() iter.Seq2[Operation, error]
	Archived() iter.Seq2[Operation, error]
	ArchiveFinished(ctx context.Context, environments ...string) (int, error)
}
