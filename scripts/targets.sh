#!/bin/bash
# targets.sh [all|TARGET…]: builds and vets the module, tests included, for other systems and
# processors. Without arguments one target of every system, with "all" every one of `go tool dist
# list`, else those named (GOOS/GOARCH). What is left out of a target stands below, with its reason.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One of each system.
ONE=(linux/386 android/arm64 windows/amd64 darwin/arm64 freebsd/amd64 openbsd/amd64 netbsd/amd64
	dragonfly/amd64 illumos/amd64 solaris/amd64 aix/ppc64 plan9/amd64 js/wasm wasip1/wasm)

# Test binaries are linked as well where the lock is meant to work.
TESTS=' darwin/arm64 freebsd/amd64 windows/amd64 '

# except TARGET: what is not done for it, as words: everything, link, vet,
# tests-of-the-command, test-support
except() {
	case $1 in
	# Go loads no package for it without cgo. The files are those of darwin/*.
	ios/*) echo 'everything' ;;
	# Go cannot link programs for these without cgo.
	android/386 | android/amd64 | android/arm) echo 'link' ;;
	# Errors have no numbers, which what stands in for a filesystem in tests, and tests, speak of.
	plan9/*) echo 'vet test-support' ;;
	# testscript, which the command's tests use, does not compile there, and there are no signals.
	js/* | wasip1/*) echo 'tests-of-the-command' ;;
	esac
}

# packages WORDS: the packages to look at
packages() {
	local list
	list=$(go list ./...)
	case " $1 " in *' test-support '*) list=$(grep -v '/internal/vfs/\|test$\|/scripts/\|/explore' <<<"$list") ;; esac
	case " $1 " in *' tests-of-the-command '*) list=$(grep -v '/cmd/probate/internal/cli$\|/scripts/' <<<"$list") ;; esac
	echo "$list"
}

case ${1:-} in
'') set -- "${ONE[@]}" ;;
all) mapfile -t list < <(go tool dist list) && set -- "${list[@]}" ;;
-*) echo "usage: scripts/targets.sh [all|GOOS/GOARCH…]" >&2; exit 2 ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=
for target; do
	began=$SECONDS
	words=$(except "$target")
	if [ "$words" = everything ]; then
		echo "  $target: left out"
		continue
	fi
	mapfile -t list < <(CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} packages "$words")
	export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
	ok=yes
	case " $words " in
	*' vet '*) go build "${list[@]}" || ok= ;;
	*) go vet "${list[@]}" || ok= ;;
	esac
	case " $words " in *' link '*) ;; *) go build -o "$scratch/probate" ./cmd/probate || ok= ;; esac
	case $TESTS in *" $target "*)
		for package in ./probe ./identity ./fence ./lockfile ./internal/vfs ./cmd/probate/internal/cli; do
			go test -c -o "$scratch/test" "$package" || ok=
		done
		;;
	esac
	unset CGO_ENABLED GOOS GOARCH
	[ "$ok" ] || bad+=" $target"
	echo "  $target: ${ok:-FAILED}${words:+, without: $words}, $((SECONDS - began)) s"
done
[ -z "$bad" ] || { echo "targets.sh: failed:$bad" >&2; exit 1; }
