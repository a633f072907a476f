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

status=0
for package in $(go list "$@"); do
	for target in $(go test $flags -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		go test $flags -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || status=1
	done
done
exit $status
