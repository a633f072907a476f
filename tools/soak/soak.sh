#!/bin/sh
# soak.sh [SECONDS [RELOADS [UPGRADES]]]
#
# Loads bin/edge with wrk, on connections that stay and on one for each request,
# while the site is replaced and reloaded and the binary is upgraded. Succeeds if
# no request failed. EDGE names another binary, EDGE_FLAGS more flags for it; wrk
# must be there.
set -eu
seconds=${1:-30} reloads=${2:-50} upgrades=${3:-3}
edge=${EDGE:-bin/edge}
dir=$(mktemp -d)
pid=
clean() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || :
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 1' INT TERM

# A site of a few sizes, whose version is in it.
mkdir "$dir/site"
head -c 102400 /dev/urandom >"$dir/site/large.bin"
release() {
	echo "$1" >"$dir/site/version"
	"$edge" pack "$dir/site" -o "$dir/next.tar" >/dev/null
	mv "$dir/next.tar" "$dir/site.tar"
}
release 0

"$edge" serve --dev --state-dir "$dir/state" --listen 127.0.0.1:0 --http 127.0.0.1:0 \
	--access-log "$dir/access.log" ${EDGE_FLAGS:-} "$dir/site.tar" >"$dir/out" 2>"$dir/log" &
pid=$!
wait_for() { # FILE PATTERN COUNT
	n=0
	until [ "$(grep -c "$2" "$1")" -ge "$3" ]; do
		n=$((n + 1))
		if [ $n -gt 600 ]; then
			echo "soak: no '$2' within a minute:" >&2
			cat "$dir/log" >&2
			exit 1
		fi
		sleep 0.1
	done
}
wait_for "$dir/out" '^listening ' 2
tls=$(sed -n 's/^listening //p' "$dir/out" | grep '^https:')
plain=$(sed -n 's/^listening //p' "$dir/out" | grep '^http:')

wrk -t1 -c20 -d"$seconds" --timeout 10s "$tls/version" >"$dir/wrk.kept" &
one=$!
wrk -t1 -c10 -d"$seconds" --timeout 10s -H 'Connection: close' "$plain/version" >"$dir/wrk.closed" &
two=$!
wrk -t1 -c5 -d"$seconds" --timeout 10s "$tls/large.bin" >"$dir/wrk.large" &
three=$!

# Reloads and upgrades spread over the time; upgrades lie among the reloads.
pause=$(awk "BEGIN { print ($seconds - 2) / ($reloads + 1) }")
each=$((upgrades > 0 ? reloads / (upgrades + 1) : reloads + 1))
done=0
for i in $(seq "$reloads"); do
	sleep "$pause"
	release "$i"
	kill -HUP "$pid"
	wait_for "$dir/log" 'reload (SIGHUP): generation ' "$i"
	if [ "$done" -lt "$upgrades" ] && [ $((i % each)) -eq 0 ]; then
		done=$((done + 1))
		kill -USR2 "$pid"
		wait_for "$dir/log" 'upgrade: process [0-9]* serves' "$done"
		pid=$(sed -n 's/.*upgrade: process \([0-9]*\) serves.*/\1/p' "$dir/log" | tail -n 1)
	fi
done
wait $one $two $three

failed=0
for run in kept closed large; do
	echo "== $run"
	cat "$dir/wrk.$run"
	if grep -q 'Socket errors\|Non-2xx' "$dir/wrk.$run" || grep -q ' 0 requests in' "$dir/wrk.$run"; then
		failed=1
	fi
done
grep -v 'reload (SIGHUP): generation' "$dir/log" || :
echo "== $reloads reloads, $done upgrades, $(wc -l <"$dir/access.log") requests logged"
exit $failed
