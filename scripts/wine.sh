#!/bin/bash
# wine.sh [PACKAGE…]: runs tests as Windows programs under Wine, which it installs if need be. Without
# arguments: the packages that pass today. What Wine shows is evidence, not proof: see README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PACKAGES=(./internal/strictjson ./identity ./fence/fencetest)
[ $# -gt 0 ] || set -- "${PACKAGES[@]}"

runner=$(bash scripts/setup-wine.sh)
trap '"$(dirname "$runner")/wine-stop"' EXIT
go run ./scripts/testrun wine env GOOS=windows CGO_ENABLED=0 go test -json -exec "$runner" "$@"
