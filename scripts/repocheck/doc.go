// Package repocheck holds the rules of this repository as tests. Each says why it is there; who has
// a better reason to break one changes the rule in the same commit.
package repocheck
