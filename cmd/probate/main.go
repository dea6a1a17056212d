// Command probate gives a file one writer at a time; see probate --help.
package main

import (
	"context"
	"os"

	"github.com/probate-dev/probate/cmd/probate/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
