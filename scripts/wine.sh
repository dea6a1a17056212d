#!/bin/bash
# wine.sh [PACKAGE…]: runs the tests as Windows programs under Wine, which it installs if need be: all
# packages, the scripts of the command among them, and then the self-test. With arguments: only these
# packages. What Wine shows is evidence, not proof: see README.md.
#
#   WINE_HOME   where Wine is, see setup-wine.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runner=$(bash scripts/setup-wine.sh)
bin=$(dirname "$runner")

# A prefix of its own: other runs have other processes and boots, and the end of this one ends none
# of theirs.
scratch=$(mktemp -d)
export WINEPREFIX=$scratch/prefix
trap '"$bin/wine-stop" || true; rm -rf "$scratch"' EXIT
cp -a "$(dirname "$bin")/prefix" "$WINEPREFIX"
rm -f "$WINEPREFIX"/.keeper.*

export GOOS=windows CGO_ENABLED=0
# The scripts folder is about this repository, and needs the go command, which Wine has not.
if [ $# = 0 ]; then
	mapfile -t packages < <(go list ./... | grep -v '/scripts')
else
	packages=("$@")
fi
code=0
env -u GOOS go run ./scripts/testrun wine \
	env GOOS=windows go test -json -exec "$runner" "${packages[@]}" || code=$?

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
