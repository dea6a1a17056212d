package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/probate-dev/probate/store/docs"
)

// Who is late is told so, and what is there instead.
func ExampleFolder_CompareAndSwap() {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	store, err := docs.OpenFolder(dir, docs.FolderOptions{})
	if err != nil {
		log.Fatal(err)
	}
	first, err := store.CompareAndSwap(
		ctx,
		"config",
		docs.Absent,
		json.RawMessage(`{"theme":"light"}`),
	)
	fmt.Println(first, err)
	second, err := store.CompareAndSwap(ctx, "config", first, json.RawMessage(`{"theme":"dark"}`))
	fmt.Println(second, err)

	_, err = store.CompareAndSwap(ctx, "config", first, json.RawMessage(`{"theme":"blue"}`))
	if conflict, ok := errors.AsType[*docs.ConflictError](err); ok {
		fmt.Println("late: expected", conflict.Expected, "but found", conflict.Current)
	}
	d, err := store.Load(ctx, "config")
	fmt.Println(string(d.Value), err)
	// Output:
	// version 1 <nil>
	// version 2 <nil>
	// late: expected version 1 but found version 2
	// {"theme":"dark"} <nil>
}

// The loop of load and compare-and-swap, for those who do not care who was first.
func ExampleUpdate() {
	ctx := context.Background()
	store := docs.NewMemory()
	for range 3 {
		d, err := docs.Update(
			ctx,
			store,
			"visits",
			func(old docs.Document) (json.RawMessage, error) {
				var n int
				if old.Version != docs.Absent {
					if err := json.Unmarshal(old.Value, &n); err != nil {
						return nil, err
					}
				}
				return json.Marshal(n + 1)
			},
		)
		fmt.Println(d.Version, string(d.Value), err)
	}
	// Output:
	// version 1 1 <nil>
	// version 2 2 <nil>
	// version 3 3 <nil>
}
