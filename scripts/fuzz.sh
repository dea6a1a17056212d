#!/bin/bash
# fuzz.sh [TIME]: runs every fuzz target of the module for TIME (10s). A finding is written into the
# testdata folder of its package by go test: commit it with the fix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
length=${1:-10s}

log=$(mktemp)
list=$(mktemp)
trap 'rm -f "$log" "$list"' EXIT

# fuzz PACKAGE TARGET
fuzz() {
	local try
	for try in 1 2 3; do
		if go test -run '^$' -fuzz "^$2\$" -fuzztime "$length" -fuzzminimizetime 1x "$1" >"$log" 2>&1; then
			echo "  $1 $2: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
			return
		fi
		# Go before 1.27 may report its own deadline as a failure (go.dev/issue/75804): nothing is
		# written then, for nothing was found.
		if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
			break
		fi
		echo "  $1 $2: the deadline of try $try was reported as a failure, once more" >&2
	done
	cat "$log"
	return 1
}

go test -list '^Fuzz' ./... >"$list" || { cat "$list" >&2; exit 1; }
count=0
targets=()
while read -r word package _; do
	case $word in
	Fuzz*) targets+=("$word") ;;
	ok)
		for target in "${targets[@]}"; do
			fuzz "$package" "$target"
			count=$((count + 1))
		done
		targets=()
		;;
	esac
done <"$list"
[ $count -gt 0 ] || { echo "fuzz.sh: found no target" >&2; exit 1; }
