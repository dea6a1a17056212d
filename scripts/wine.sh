#!/bin/bash
# wine.sh [PACKAGE…]: runs the tests as Windows programs under Wine, which it installs if need be: all
# packages, the scripts of the command among them, and then the self-test. With arguments: only these
# packages. What Wine shows is evidence, not proof: see README.md.
#
#   WINE_HOME   where Wine is, see setup-wine.sh
#   WINE_SHORT  not empty: all tests, shortened
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runner=$(bash scripts/setup-wine.sh)
bin=$(dirname "$runner")

# A prefix of its own: other runs have other processes and boots, and the end of this one ends none
# of theirs.
scratch=$(mktemp -d)
export WINEPREFIX=$scratch/prefix
tests=
# shellcheck disable=SC2317 # the traps call it
finish() {
	trap - EXIT
	# First what starts Windows programs, for the first of them would start a server anew.
	[ -z "$tests" ] || kill -- -"$tests" 2>/dev/null || true
	"$bin/wine-stop" || true
	rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
cp -a "$(dirname "$bin")/prefix" "$WINEPREFIX"
rm -f "$WINEPREFIX"/.keeper.*
( # The server inherits nothing of ours: a lock on a descriptor would be held as long as it runs.
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		if [ "$fd" -gt 2 ] && [ "$fd" != 255 ]; then exec {fd}>&-; fi
	done
	"$bin/wine-start"
)

# The folder scripts is about this repository, and needs the go command, which Wine has not.
if [ $# = 0 ]; then
	mapfile -t packages < <(GOOS=windows go list ./... | grep -v '/scripts')
else
	packages=("$@")
fi
go build -o "$scratch/testrun" ./scripts/testrun
export GOOS=windows CGO_ENABLED=0
flags=(-timeout 40m)
if [ -n "${WINE_SHORT:-}" ]; then flags+=(-short); fi

code=0
set -m # a group of processes of its own
"$scratch/testrun" wine go test -json "${flags[@]}" -exec "$runner" "${packages[@]}" &
tests=$!
set +m
wait "$tests" || code=$?
tests=

if [ $# = 0 ]; then
	go build -o "$scratch/probate.exe" ./cmd/probate
	echo "wine: probate selftest"
	"$runner" "$scratch/probate.exe" selftest || code=1
	"$runner" "$scratch/probate.exe" selftest --json >"$scratch/steps" || code=1
	# Nothing that Windows can do may be left out.
	if grep -E '"status":"(off|skipped)"' "$scratch/steps" ||
		! grep -q '"step":"summary","status":"ok"' "$scratch/steps"; then
		cat "$scratch/steps"
		echo "wine: the self-test is not all ok" >&2
		code=1
	fi
fi
exit $code
