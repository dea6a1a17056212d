package docs

import (
	"os"
	"strings"
)

// spelled returns the name under which a file that was found in dir really stands there: most
// volumes take Key and key for one.
func spelled(dir, name string) (string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	found := name // removed meanwhile
	for _, n := range names {
		if n == name {
			return name, nil
		}
		if strings.EqualFold(n, name) {
			found = n
		}
	}
	return found, nil
}
