#!/bin/bash
# arches.sh: runs tests on other processors under qemu: byte order (s390x is big-endian), alignment,
# word size. Not the tests that judge real processes: qemu invents the start time of its own. So of
# some packages only the tests in certain files are run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/tools.sh qemu

# tests_in FILE…: a pattern for go test -run
tests_in() {
	local names
	names=$(sed -n 's/^func \(\(Test\|Fuzz\)[A-Za-z0-9_]*\)(.*/\1/p' "$@" | grep -v '^TestMain$' | paste -sd '|')
	[ -n "$names" ] || { echo "arches.sh: no tests in $*" >&2; return 1; }
	printf '^(%s)$' "$names"
}

# pure FOLDER: its test files that are for every system
pure() { find "$1" -maxdepth 1 -name '*_test.go' ! -name '*_linux_test.go' ! -name '*_unix_test.go' "${@:2}"; }

# Packages whose tests all run, and those of which only the tests in certain files do. The explorer's
# take many minutes under qemu.
WHOLE=(./internal/strictjson ./fence/... ./internal/vfs/simfs)
mapfile -t files < <(pure identity ! -name process_test.go)
identity=$(tests_in "${files[@]}")
mapfile -t files < <(pure probe ! -name bench_test.go)
probe=$(tests_in "${files[@]}")
# The codec, and the lock on scripted systems with real files and flocks.
lockfile=$(tests_in lockfile/record_codec_test.go lockfile/encode_test.go lockfile/scripted_unix_test.go)

for arch in ${ARCHES:-arm64 riscv64 s390x}; do
	run() {
		go run ./scripts/testrun "$arch" env GOARCH="$arch" CGO_ENABLED=0 \
			bash scripts/with-binfmt.sh go test -json "$@"
	}
	run "${WHOLE[@]}"
	run -run "$identity" ./identity
	run -run "$probe" ./probe
	run -run "$lockfile" ./lockfile
	run -run '^(TestExplore|TestReplay)$' ./lockfile/internal/explore -short -explore.preemptions=0 \
		-explore.runs=10
done
