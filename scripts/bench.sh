#!/bin/bash
# bench.sh [-n RUNS] [-t TIME] [-b PATTERN] [DIR…]: measures Probate beside other locks and beside the
# bare system calls, all in one run and on the same directories, and prints one table. Every run
# measures everything once, for TIME each, so that what disturbs the machine disturbs all sides alike.
# DIR… are directories on different filesystems; without, one on disk and one in memory. The raw
# results, in the form that benchstat reads, are kept beside: `go tool benchstat -col /side FILE`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/bench"

runs=10 time=100ms pattern=. out=
while getopts n:t:b:o: option; do
	case $option in
	n) runs=$OPTARG ;;
	t) time=$OPTARG ;;
	b) pattern=$OPTARG ;;
	o) out=$OPTARG ;;
	*) echo "usage: scripts/bench.sh [-n RUNS] [-t TIME] [-b PATTERN] [-o RESULTS] [DIR…]" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${TMPDIR:-/var/tmp}" /dev/shm

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ -n "$out" ] || out=$scratch/results
go test -c -o "$scratch/bench.test" .
go build -o "$scratch/table" ./table
: >"$out"
for ((i = 0; i < runs; i++)); do
	for dir; do
		place=$(mktemp -d -p "$dir" probate-bench.XXXXXX)
		echo "filesystem: $(stat -f -c %T "$dir" | sed s,ext2/ext3,ext4,)" >>"$out"
		TMPDIR=$place "$scratch/bench.test" -test.run '^$' -test.bench "$pattern" \
			-test.benchtime "$time" >>"$out" 2>"$scratch/errors" || {
			cat "$out" "$scratch/errors" >&2
			exit 1
		}
		rm -rf "$place"
	done
done
uname -srm
grep -m1 '^cpu:' "$out" || true
date +%Y-%m-%d
"$scratch/table" "$out"
