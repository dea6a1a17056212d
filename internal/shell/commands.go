package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// Every command is one that its system has without installing anything, and on Windows one that
// both cmd and PowerShell run.

// List shows owner and permissions of what stands at paths.
func (s System) List(paths ...string) string {
	if s.OS == "windows" {
		return "icacls " + s.paths(paths[:1])
	}
	return "ls -ld " + s.paths(paths)
}

// Content shows the first bytes of a file, and what it is.
func (s System) Content(path string) string {
	if s.OS == "windows" {
		if strings.HasPrefix(path, "-") {
			path = "./" + path
		}
		return `powershell -c "Format-Hex '` + strings.ReplaceAll(Escape(path), "'", "''") + `'"`
	}
	path = s.path(path)
	return "ls -l " + path + "; head -c 300 " + path + " | cat -v"
}

// Process shows a process by its number.
func (s System) Process(pid int) string {
	if s.OS == "windows" {
		return fmt.Sprintf(`tasklist /v /fi "PID eq %d"`, pid)
	}
	return "ps -o pid,user,stat,lstart,args -p " + strconv.Itoa(pid)
}

// Continue lets a stopped process go on; "" where people have no command for that.
func (s System) Continue(pid int) string {
	if s.OS == "windows" {
		return ""
	}
	return "kill -CONT " + strconv.Itoa(pid)
}

// Openers shows which processes have a file open.
func (s System) Openers(path string) string {
	switch s.OS {
	case "windows":
		return "resmon (CPU, Associated Handles, search for " + s.path(path) + ")"
	case "darwin":
		return "lsof " + s.path(path)
	case "freebsd", "openbsd", "netbsd", "dragonfly":
		return "fstat " + s.path(path)
	}
	return "fuser -v " + s.path(path)
}

// Privileged is command, a command of probate, with all rights.
func (s System) Privileged(command string) string {
	switch s.OS {
	case "windows":
		return command + " (in a window that was opened as administrator)"
	case "openbsd":
		return "doas " + command
	}
	return "sudo " + command
}

// Superuser is who has all rights.
func (s System) Superuser() string {
	if s.OS == "windows" {
		return "an administrator"
	}
	return "root"
}

// Without is command with an environment variable taken away.
func (s System) Without(variable, command string) string {
	if s.OS == "windows" {
		return `cmd /c "set ` + variable + `=& ` + command + `"`
	}
	return "env -u " + variable + " " + command
}

// Which shows where a program is found.
func (s System) Which(name string) string {
	if s.OS == "windows" {
		return "where.exe " + s.Quote(name)
	}
	return "command -v " + s.Quote(name)
}

// Nothing is a command that writes nothing and succeeds.
func (s System) Nothing() string {
	if s.OS == "windows" {
		return "cmd /c rem"
	}
	return "true"
}

// Space shows how much room the filesystem of a directory has, for content and for files.
func (s System) Space(dir string) string {
	if s.OS == "windows" {
		return "fsutil volume diskfree " + s.path(dir)
	}
	return "df " + s.path(dir) + "; df -i " + s.path(dir)
}

// Disk shows what the kernel says of failing disks.
func (s System) Disk() string {
	switch s.OS {
	case "windows":
		return "wevtutil qe System /c:20 /rd:true /f:text"
	case "darwin":
		return "log show --last 1h --predicate 'process == \"kernel\"'"
	}
	return "dmesg"
}

// Files is what to do where a process has too many files open.
func (s System) Files() string {
	if s.OS == "windows" {
		return "end programs: this machine has no handles left"
	}
	return "raise the limit of open files (ulimit -n)"
}

// FileSize is what to do where a file would become larger than it may.
func (s System) FileSize() string {
	if s.OS == "windows" {
		return "use a filesystem that holds larger files"
	}
	return "raise the limit of file sizes (ulimit -f), or use a filesystem that holds larger files"
}

// NotExecutable says why a file that exists cannot be run as a command.
func (s System) NotExecutable() string {
	if s.OS == "windows" {
		return "its name ends in nothing that PATHEXT lists (.exe, .bat, …)"
	}
	return "ls -l shows its mode"
}

// NotAProgram says what a file is that the kernel takes for no program.
func (s System) NotAProgram() string {
	if s.OS == "windows" {
		return "it is no program for this system; a script needs its interpreter before it"
	}
	return "a script needs a first line such as #!/bin/sh"
}
