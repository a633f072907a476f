# What the tests with browsers share; they source it. It goes to the top of the
# tree, makes $work, a directory that goes with everything started once the test
# ends, and has a home there in which browsers find the authorities they trust.

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
started=

finish() {
	for pid in $started; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT

# need PROGRAM PACKAGE ... installs what is missing, on Debian, as root.
need() {
	packages=
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || packages="$packages $2"
		shift 2
	done
	[ -n "$packages" ] || return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing:$packages" >&2
		exit 1
	fi
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends $packages fonts-liberation
}

# fail TEXT [FILE] shows what a file holds and ends the test.
fail() {
	echo "$1" >&2
	[ $# -lt 2 ] || head -c 4000 "$2" >&2
	exit 1
}

# within SECONDS COMMAND ... waits until the command succeeds.
within() {
	tries=$(($1 * 10))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# serve NAME FLAG ... starts edge, which logs to $work/NAME.log and $work/NAME.access,
# and sets port.
serve() {
	name=$1
	shift
	: >"$work/$name.ready"
	bin/edge serve --listen 127.0.0.1:0 --access-log "$work/$name.access" "$@" >"$work/$name.ready" 2>>"$work/$name.log" &
	started="$started $!"
	within 20 grep -q listening "$work/$name.ready" || fail "edge did not start:" "$work/$name.log"
	port=$(sed -n 's|^listening https://127\.0\.0\.1:||p' "$work/$name.ready")
}

# trust DIR FILE makes a browser's certificate database that trusts an authority.
trust() {
	mkdir -p "$1"
	certutil -d "sql:$1" -N --empty-password
	certutil -d "sql:$1" -A -t C,, -n authority -i "$2"
}

# in_chromium FLAG ... runs Chromium with $work/profile, which trusts what is in
# $work/home/.pki/nssdb.
in_chromium() {
	HOME=$work/home timeout 120 chromium --headless=new --no-sandbox --disable-gpu --disable-background-networking \
		--hide-scrollbars --user-data-dir="$work/profile" "$@" 2>"$work/chromium.log"
}
