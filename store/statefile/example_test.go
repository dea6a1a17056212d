package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

type settings struct {
	Theme string `json:"theme"`
	Runs  int    `json:"runs"`
}

// A counter that any number of processes share.
func ExampleFile_Update() {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	file := statefile.Open[settings](filepath.Join(dir, "settings.json"), statefile.Options{
		Lock: lockfile.Options{Label: "counting runs"},
	})
	for range 2 {
		now, err := file.Update(context.Background(), func(s settings) (settings, error) {
			s.Runs++
			return s, nil
		})
		fmt.Println(now.Runs, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// A settings file that people edit too: readable, strict about what it does not know, and with a
// way back when an edit went wrong.
func ExampleFile_Restore() {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	codec := statefile.JSON[settings]{Indent: "  ", Strict: true}
	file := statefile.OpenWith(filepath.Join(dir, "settings.json"), codec, statefile.Options{})
	_ = file.Save(ctx, settings{Theme: "light"})
	_ = file.Save(ctx, settings{Theme: "dark"})

	_ = os.WriteFile(file.Path(), []byte(`{"theme": "dar`), 0o600) // an editor that crashed

	_, err = file.Load()
	if damaged, ok := errors.AsType[*statefile.Error](err); ok {
		fmt.Println(errors.Is(err, statefile.ErrCorrupt), filepath.Base(damaged.Previous))
	}
	now, err := file.Restore(ctx)
	fmt.Println(now.Theme, err)
	// Output:
	// true settings.json.previous
	// light <nil>
}

// Whoever changes the file, this loop sees it.
func ExampleFile_Watch() {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	file := statefile.Open[settings](filepath.Join(dir, "settings.json"), statefile.Options{})
	_ = file.Save(ctx, settings{Theme: "light"})
	for now, err := range file.Watch(ctx) {
		fmt.Println(now.Theme, err)
		if now.Theme == "dark" {
			break
		}
		_ = file.Save(ctx, settings{Theme: "dark"})
	}
	// Output:
	// light <nil>
	// dark <nil>
}
