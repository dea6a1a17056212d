#!/bin/bash
# soak.sh [SECONDS]: six processes commit while they are killed and stopped (two minutes by default).
# TMPDIR says on which filesystem. See scripts/soak.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-120}
case $seconds in
'' | *[!0-9]*) echo "usage: scripts/soak.sh [SECONDS]" >&2; exit 2 ;;
esac
exec go run ./scripts/soak -for "${seconds}s"
