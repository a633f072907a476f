#!/bin/sh
# Runs every fuzz target of the module, one after the other, each for the time
# given (default 10s). Ends with 1 when one found something; the input is then
# in that package's testdata/fuzz.
#   tools/fuzz/fuzz.sh [TIME] [PACKAGE...]
set -eu
cd "$(dirname "$0")/../.."

time=${1:-10s}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- ./...
flags=-ldflags=-checklinkname=0

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET. On a busy machine the Go tool may report the end of the
# time itself ("context deadline exceeded") as a failure: that is none.
fuzz() {
	echo "== $1 $2"
	if go test $flags -run '^$' -fuzz "^$2\$" -fuzztime "$time" "$1" >"$log" 2>&1; then
		tail -n 1 "$log"
	elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
		echo "ok (the time ended while an input was being tried)"
	else
		cat "$log"
		return 1
	fi
}

status=0
for package in $(go list "$@"); do
	for target in $(go test $flags -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		fuzz "$package" "$target" || status=1
	done
done
exit $status
