package vfs

// Stale reports that err says "the file behind this handle was replaced".
func Stale(error) bool { return false }

// NoLinks reports that there are no hard links.
func NoLinks(error) bool { return true }

// NotOurs reports that a file cannot be given away.
func NotOurs(error) bool { return true }
