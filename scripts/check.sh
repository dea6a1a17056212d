#!/bin/bash
# check.sh [STEP…]: everything that CI checks, one step after the other, or the steps named. It stops
# at the first that fails and says which. `check.sh -l` lists the steps. What they need is in
# scripts/README.md; scripts/tools.sh installs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

STATICCHECK=v0.8.2 # honnef.co/go/tools
ACTIONLINT=v1.7.12 # github.com/rhysd/actionlint
STEPS=(test selftest gofmt modules vet staticcheck shell workflows release race 386 arches wine examples
	sqlite fuzz kills faults explore mutants bench contend soak)
NESTED=(scripts/bench scripts/soak store/docs/sqldocs/testsqlite) # modules of their own

# First the test command of the README, exactly. Skips are compared in the run under the race
# detector, which starts the same tests.
step_test() { go test ./...; }

step_selftest() {
	go run ./cmd/probate selftest
	go run ./cmd/probate selftest --json | jq -e . >/dev/null
}

step_gofmt() {
	local bad
	bad=$(gofmt -l .)
	[ -z "$bad" ] || fail "run gofmt -w on: $bad"
}

step_modules() {
	go mod verify
	go mod tidy -diff
	local dir
	for dir in "${NESTED[@]}"; do
		(cd "$dir" && go mod verify && go mod tidy -diff)
	done
}

# In these two one look shows what is wrong on every system.
step_vet() {
	bash scripts/targets.sh
	(cd scripts/bench && go vet ./...)
}

# Error strings here begin with the names of fields and methods.
step_staticcheck() {
	local os bad=''
	tool honnef.co/go/tools/cmd/staticcheck "$STATICCHECK"
	for os in linux windows darwin; do
		echo "  $os"
		CGO_ENABLED=0 GOOS=$os "$tools/staticcheck" -checks inherit,-ST1005 ./... || bad+=" $os"
	done
	[ -z "$bad" ] || fail "staticcheck:$bad"
}

step_shell() {
	local script
	for script in .ci/run scripts/*.sh; do
		bash -n "$script"
		shellcheck "$script"
	done
}

step_workflows() {
	tool github.com/rhysd/actionlint/cmd/actionlint "$ACTIONLINT"
	"$tools/actionlint" .github/workflows/*.yml
}

# Built twice, a release is the same to the byte, and says its version.
step_release() {
	local archive
	export RELEASE_TARGETS='linux/amd64 windows/amd64'
	bash scripts/release.sh v0.0.0-check "$scratch/one"
	bash scripts/release.sh v0.0.0-check "$scratch/two"
	(cd "$scratch/one" && sha256sum --check --strict SHA256SUMS)
	cmp "$scratch/one/SHA256SUMS" "$scratch/two/SHA256SUMS"
	archive=probate_0.0.0-check_linux_amd64
	tar -C "$scratch" -xzf "$scratch/one/$archive.tar.gz"
	[ "$("$scratch/$archive/probate" version)" = 'probate v0.0.0-check' ]
	unset RELEASE_TARGETS
}

# Shortened, for the step called test has run them in full, and the night does both in full.
# Programs under the race detector stay for a second at their end if they are not told otherwise, and
# tests start thousands.
step_race() {
	GORACE=atexit_sleep_ms=0 go run ./scripts/testrun race go test -json -short -timeout 30m -race ./...
}

step_386() {
	go run ./scripts/testrun 386 env GOARCH=386 CGO_ENABLED=0 go test -json -short -timeout 30m \
		./internal/... ./probe/... ./identity/... ./fence/... ./lockfile/... ./store/... ./cmd/...
}

step_arches() { bash scripts/arches.sh; }

step_wine() { WINE_SHORT=yes bash scripts/wine.sh; }

step_examples() { go test -run '^Example' -count=1 ./...; }

# With a database driver, which only tests need.
step_sqlite() { (cd store/docs/sqldocs/testsqlite && go test ./...); }

step_fuzz() { bash scripts/fuzz.sh 3s; }

step_kills() { go test -count=1 -timeout 20m -run '^TestKilledAt' ./cmd/probate/internal/cli -every; }

step_faults() { go test -count=1 -timeout 20m -run '^TestOperationsFail$' ./cmd/probate/internal/cli -times 6; }

step_explore() {
	bash scripts/explore.sh >"$scratch/explored" || { cat "$scratch/explored"; return 1; }
	grep -E 'schedules|moments|cut [0-9]' "$scratch/explored"
}

# All of the protocol and of verdicts; of the others some every day, and all at night.
step_mutants() { go test -count=1 -timeout 30m ./scripts/mutants -mutants -one-in 5; }

# Once each, so that they cannot rot: nothing is said about time.
step_bench() { (cd scripts/bench && go test ./... && go test -run '^$' -bench . -benchtime 1x .); }

step_contend() { (cd scripts/bench && go run ./contend -rounds 200); }

step_soak() {
	(cd scripts/soak && go test -count=1 ./...)
	bash scripts/soak.sh 20
}

fail() { echo "check: $*" >&2; return 1; }

# tool PACKAGE VERSION: builds a program once, for this machine, into a folder of that version
tool() {
	tools=${XDG_CACHE_HOME:-$HOME/.cache}/probate-checks/$(basename "$1")-$2
	[ -x "$tools/$(basename "$1")" ] || GOBIN=$tools GOFLAGS='' go install "$1@$2"
}

case ${1:-} in
-l) printf '%s\n' "${STEPS[@]}"; exit ;;
-*) echo "usage: scripts/check.sh [-l] [STEP…]" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- "${STEPS[@]}"
for name; do
	[ "$(type -t "step_$name")" = function ] || { fail "no step is called $name: ${STEPS[*]}"; exit 2; }
done

for command in go git gcc jq shellcheck; do
	command -v "$command" >/dev/null || { fail "needs $command; next: bash scripts/tools.sh"; exit 1; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
began=$SECONDS
summary=
for name; do
	from=$SECONDS
	echo "=== $name"
	# Not inside a condition: there, set -e would be off.
	set +e
	(
		set -e
		"step_$name"
	)
	code=$?
	set -e
	summary+="  $((SECONDS - from)) s  $name"$'\n'
	if [ $code != 0 ]; then
		echo "--- FAILED: $name, exit code $code, after $((SECONDS - from)) s"
		echo "next: bash scripts/check.sh $name"
		exit 1
	fi
	echo "--- $name: ok, $((SECONDS - from)) s"
done
echo "=== all good after $((SECONDS - began)) s"
printf '%s' "$summary"
