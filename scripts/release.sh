#!/bin/bash
# release.sh VERSION FOLDER: builds what a release consists of into an empty FOLDER: for each of the
# usual targets one archive with the static binary, README and LICENSE, and SHA256SUMS over all. The
# same commit and Go version give the same bytes: no paths, no times, no build ids.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TARGETS=(linux/amd64 linux/arm64 linux/386 linux/arm linux/riscv64 linux/s390x linux/ppc64le
	darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64)
read -r -a targets <<<"${RELEASE_TARGETS:-${TARGETS[*]}}"

[ $# = 2 ] || { echo "usage: scripts/release.sh VERSION FOLDER" >&2; exit 2; }
[[ $1 =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
	{ echo "release.sh: $1 is no version: vX.Y.Z or vX.Y.Z-PRE" >&2; exit 2; }
version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
[ -z "$(ls -A "$out")" ] || { echo "release.sh: $out is not empty" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
epoch=$(git log -1 --format=%ct)
for target in "${targets[@]}"; do
	os=${target%/*} arch=${target#*/}
	name=probate_${version#v}_${os}_$arch
	mkdir "$work/$name"
	exe=probate
	if [ "$os" = windows ]; then exe=probate.exe; fi
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS='' go build -trimpath \
		-ldflags "-s -w -buildid= -X $(go list -m)/cmd/probate/internal/cli.release=$version" \
		-o "$work/$name/$exe" ./cmd/probate
	cp README.md LICENSE "$work/$name/"
	find "$work/$name" -exec touch -d "@$epoch" {} +
	chmod 755 "$work/$name" "$work/$name/$exe"
	chmod 644 "$work/$name/README.md" "$work/$name/LICENSE"
	if [ "$os" = windows ]; then
		(cd "$work" && TZ=UTC zip -q -X "$out/$name.zip" "$name" "$name/$exe" "$name/LICENSE" "$name/README.md")
	else
		tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar \
			--mtime="@$epoch" -cf - "$name" | gzip -n -9 >"$out/$name.tar.gz"
	fi
done
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
