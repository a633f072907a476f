#!/bin/sh
# The Go benchmarks of every package; or, with HARNESS naming the benchmark
# harness (see README.md beside this), edge beside the servers it knows.
set -eu
cd "$(dirname "$0")/../.."

if [ -z "${HARNESS:-}" ]; then
	exec go test -ldflags=-checklinkname=0 -run '^$' -bench . -benchmem ./...
fi
EDGE_ENTRY=$PWD/tools/bench/edge.py EDGE_BIN=$PWD/bin/edge
export EDGE_ENTRY EDGE_BIN
exec "$HARNESS" --servers "${SERVERS:-nginx,h2o,haproxy,edge}" --workloads "${WORKLOADS:-static-174,static-100k}" \
	--seconds "${SECONDS_EACH:-10}" --runs "${RUNS:-3}"
