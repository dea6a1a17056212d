#!/bin/bash
# arches.sh [PACKAGE…]: runs tests on other processors under qemu: byte order (s390x is big-endian),
# alignment and word size. Without arguments: what does not judge real processes, for qemu invents
# some of the facts about them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PACKAGES=(./internal/strictjson ./identity ./fence)
[ $# -gt 0 ] || set -- "${PACKAGES[@]}"

bash scripts/tools.sh qemu
for arch in arm64 riscv64 s390x; do
	go run ./scripts/testrun "$arch" env GOARCH="$arch" CGO_ENABLED=0 \
		bash scripts/with-binfmt.sh go test -json "$@"
done
# Parsers and codecs of packages whose other tests need real processes.
for arch in arm64 riscv64 s390x; do
	go run ./scripts/testrun "$arch" env GOARCH="$arch" CGO_ENABLED=0 \
		bash scripts/with-binfmt.sh go test -json -run 'Codec|Parse|Decode|Record|Golden|Token' \
		./probe ./lockfile
done
