// Package crashtest makes real processes crash at chosen steps, and their disks fail. It is for
// child processes of tests: what it does to a process cannot be undone.
package crashtest
