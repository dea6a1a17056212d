//go:build !windows && !darwin

package docs

// spelled returns the name under which a file that was found in dir really stands there. File
// systems that take two names for one are the exception here, and not asked for.
func spelled(_, name string) (string, error) { return name, nil }
