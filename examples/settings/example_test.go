package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The program starts itself again. In a test, that is the test program, which is the program when
// this variable is set.
const asProgram = "SETTINGS_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Setenv(asProgram, "1")
	os.Exit(m.Run())
}

func Example() {
	code := run(context.Background(), nil, os.Stdout, os.Stderr)
	fmt.Println("exit code", code)
	// Output:
	// nobody has changed anything yet
	//   no settings yet
	// a program sets the theme
	//   theme=light fontSize=0
	// a program sets the font size
	//   theme=light fontSize=12
	// a person edits the file
	//   theme=dark fontSize=12
	// a person makes a mistake
	//   the file is damaged: line 3: invalid character '"' after object key:value pair
	// a program is refused
	//   exit code 3
	// a person puts in the comma
	//   theme=dark fontSize=14
	// a program sets the theme
	//   theme=blue fontSize=14
	// an editor crashes while it writes
	//   the file is damaged: the file is cut short: unexpected EOF
	// the previous version is put back
	//   theme=dark fontSize=14
	// what the editor left is kept as settings.json.damaged-…
	// exit code 0
}

// A mistake is an exit code of its own, and the file stays as the person left it.
func Example_mistake() {
	dir, err := os.MkdirTemp("", "settings-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")
	edited := `{"theme": "dark", "fontsise": 12}`
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	code := run(context.Background(), []string{"set", path, "fontSize", "14"}, os.Stdout, io.Discard)
	text, err := os.ReadFile(path)
	fmt.Println(code, string(text) == edited, err)

	fmt.Println(run(context.Background(), []string{"set", path, "fontSize"}, os.Stdout, io.Discard))
	fmt.Println(run(context.Background(), []string{"show", path + ".other"}, os.Stdout, io.Discard))
	// Output:
	// 3 true <nil>
	// 2
	// 1
}
