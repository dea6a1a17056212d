#!/bin/bash
# explore.sh [long]: the schedules of the lock code and its power cuts, further than go test does. With
# `long` what a night has time for: two processes with up to three preemptions and one crash, then
# with any number of preemptions; three contenders with up to two, millions of schedules; half an
# hour at most for each scenario and bound, of which it says whether that was enough; and many more
# of the disks that a power cut may leave. As many scenarios are walked at once as there are
# processors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
'') explore=(-explore.preemptions=2 -explore.runs=150000) trios=(-explore.preemptions=1 -explore.runs=20000)
	power=(-explore.disks=60 -explore.samples=40 -explore.ext4=5) ;;
long) explore=(-explore.preemptions=3 -explore.runs=0 -explore.budget=30m)
	trios=(-explore.preemptions=2 -explore.runs=0 -explore.budget=30m)
	power=(-explore.disks=2000 -explore.samples=1000 -explore.again=100 -explore.ext4=200) ;;
*) echo "usage: scripts/explore.sh [long]" >&2; exit 2 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go test -c -o "$scratch/explore" ./lockfile/internal/explore
cd lockfile/internal/explore
export GOGC=400
walk() { "$scratch/explore" -test.v -test.timeout 24h -test.run "$@"; }
walk '^TestExplore$' "${explore[@]}"
if [[ ${1:-} = long ]]; then
	walk '^TestExplore$' "${explore[@]}" -explore.preemptions=-1
fi
walk '^TestExplore$' -explore.three "${trios[@]}"
walk '^(TestPowerCut|TestNothingIsLost)' "${power[@]}"
