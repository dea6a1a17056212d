#!/bin/bash
# trace.sh [-n TIMES] OUT [DIR]: writes into the folder OUT what a tenure, an inspection, a commit, a
# handoff and a takeover consist of: NAME.trace is every system call with the time since the one
# before, NAME.count how often each is made, and NAME.cpu, with NAME.top in text, where processor
# time goes. Lines that write to descriptor -1 are marks: "begin tenure 5". The first time in a trace
# has what a process does once. The files of the lock are in DIR (on another filesystem, say), or
# beside OUT.
set -euo pipefail
times=50
[ "${1-}" = -n ] && times=$2 && shift 2
[ $# -ge 1 ] || { echo "usage: scripts/bench/trace.sh [-n TIMES] OUT [DIR]" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd) parent=$(cd "${2:-$1}" && pwd)
dir=$(mktemp -d -p "$parent" state.XXXXXX)
trap 'rm -rf "$dir"; rm -f "$out/trace" "$out/bench.test"' EXIT
cd "$(dirname "${BASH_SOURCE[0]}")"
go build -o "$out/trace" ./trace
go test -c -o "$out/bench.test" .

# What the Go runtime does for itself, at any time, is left out.
calls='!nanosleep,gettid,madvise,rt_sigaction,rt_sigprocmask,rt_sigreturn,sigaltstack,tgkill'

# traced NAME COMMAND…: once with every call, once with the counts.
traced() {
	local name=$1
	shift
	strace -f -r -s 64 -e "trace=$calls" -o "$out/$name.trace" "$@"
	rm -rf "$dir/state.turns"
	strace -f -c -U calls,errors,name -e "trace=$calls" -o "$out/$name.count" "$@"
}
traced tenure "$out/trace" tenure "$dir/state" "$times"
traced commit "$out/trace" commit "$dir/state" "$times"
coproc holder { "$out/trace" hold "$dir/state" 1; }
read -r _ <&"${holder[0]}"
traced inspection "$out/trace" inspection "$dir/state" "$times"
holder_pid=$holder_PID
exec {holder[1]}>&-
wait "$holder_pid"
traced takeover "$out/trace" succeed "$dir/state" "$(((times + 4) / 5))"
# shellcheck disable=SC2016 # the inner shell expands these
traced handoff sh -c '"$0" turns "$1" "$2" & "$0" turns "$1" "$2"; wait' \
	"$out/trace" "$dir/state" "$times"

# profiled NAME BENCHMARK
profiled() {
	TMPDIR=$dir "$out/bench.test" -test.run '^$' -test.bench "$2" -test.benchtime "$((times * 20))x" \
		-test.cpuprofile "$out/$1.cpu" >"$out/$1.bench"
	go tool pprof -top -cum "$out/bench.test" "$out/$1.cpu" >"$out/$1.top" 2>/dev/null
}
profiled tenure 'AcquireRelease$/side=probate'
profiled commit 'Commit/side=probate'
profiled inspection 'Inspect'
echo "in $out: tenure, inspection, commit, handoff and takeover as .trace and .count, profiles as .cpu and .top"
