package testsqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/sqldocs"
)

func Example() {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "data.db")

	db, err := sql.Open("sqlite", path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := sqldocs.Open(ctx, db, path, sqldocs.Options{}) // one writing process at a time
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	version, err := store.CompareAndSwap(ctx, "config", docs.Absent, json.RawMessage(`{"a": 1}`))
	fmt.Println(version, err)
	d, err := store.Load(ctx, "config")
	fmt.Println(string(d.Value), err)
	// Output:
	// version 1 <nil>
	// {"a":1} <nil>
}
