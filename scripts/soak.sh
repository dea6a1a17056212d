#!/bin/bash
# soak.sh [SECONDS [FLAG…]]: processes commit while they are killed and stopped, while the disk gets
# full and file operations fail (two minutes by default). The flags are those of scripts/soak, such as
# -seed N for the choices of an earlier run. -dir or TMPDIR says on which filesystem.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/soak"
seconds=${1:-120}
case $seconds in
'' | *[!0-9]*) echo "usage: scripts/soak.sh [SECONDS [FLAG…]]" >&2; exit 2 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch/soak" .
"$scratch/soak" -for "${seconds}s" "${@:2}"
