package vfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// worldTemp is a directory that everybody can write to, where everybody can get to.
func worldTemp(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("/tmp", "vfs-world-")
	must{t}.ok(err)
	t.Cleanup(func() { os.RemoveAll(path) })
	must{t}.ok(os.Chmod(path, 0o777))
	return path
}

// nobody makes cmd run as another, unprivileged user. The test binary has to be reachable for that
// user, so a copy of it is started.
func nobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "only root can be somebody else")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	exe, err := os.ReadFile("/proc/self/exe")
	must{t}.ok(err)
	dir, err := os.MkdirTemp("/tmp", "vfs-exe-")
	must{t}.ok(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must{t}.ok(os.Chmod(dir, 0o755))
	cmd.Path = filepath.Join(dir, "exe")
	must{t}.ok(os.WriteFile(cmd.Path, exe, 0o755))
	cmd.Dir = "/"
}

// namespaces makes cmd run in namespaces of its own.
func namespaces(t *testing.T, cmd *exec.Cmd, flags uintptr) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "only root can make namespaces here")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
}
