# What the field scripts share; read with `. $FIELD`. S is a state path. Whatever was started in the
# background ends with the script, and has none of its streams: a test waits for their end.
set -e
# a folder for each case, also where it starts a shell of its own
test -n "$CASE" || { CASE=$(mktemp -d "$PWD/case.XXXXXX"); export CASE; }
cd "$CASE"
trap 'for p in $started; do kill -9 -- "-$p" 2>/dev/null || :; done' EXIT
started=

# start CMD…: in the background, in a process group of its own; its number is then in $pid
start() {
	setsid "$@" >/dev/null 2>&1 </dev/null &
	pid=$!
	started="$started $pid"
}

# hold S [FLAG…]: somebody holds S from now on
hold() {
	rm -f "$1.held"
	start probate run "${@:2}" "$1" -- sh -c 'echo >"$1.held"; exec sleep 600' sh "$1"
	until test -s "$1.held"; do sleep 0.01; done
}

# crash S: leave the record of an owner that was killed, with all that it had started
crash() {
	hold "$1"
	end "$1"
}

# end S: kill the owner, which was started last, and all that it started; they die in their own time
end() {
	kill -9 -- "-$pid"
	wait "$pid" || :
	until test "$(probate inspect --json "$1" | jq -r .verdict)" = gone; do sleep 0.01; done
}

# forge S FILTER: edit fields of the record in place, so that it stays the file that it was
forge() {
	edited=$(jq -c "$2" "$1.lock")
	printf %s "$edited" >"$1.lock"
}

# says S PATTERN CODE: one look has that exit code and matches, and the JSON has a next step too
says() {
	code=0
	probate inspect "$1" >text 2>&1 || code=$?
	cat text
	test $code = "$3"
	grep -Eq -- "$2" text
	probate inspect --json "$1" >json || test $? = "$3"
	jq -e '.sentence != "" and .next != ""' json >/dev/null
}

# refuses S: nothing takes it, no command runs, and not a byte of the record changes
refuses() {
	before=$(ls -li "$1.lock"; cksum <"$1.lock")
	if probate recover "$1"; then exit 71; fi
	if probate run --no-wait "$1" -- touch ran-without-the-lock; then exit 72; fi
	test "$before" = "$(ls -li "$1.lock"; cksum <"$1.lock")"
	test ! -e ran-without-the-lock
}

# took S REASON: it can be recovered, and the log says why
took() {
	probate recover "$1"
	probate log --json "$1" | tail -1 | jq -e --arg r "$2" '.reason == $r'
}
