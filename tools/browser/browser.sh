#!/bin/sh
# Loads the example site in headless Chromium, with the development authority
# trusted, and looks at what the browser made of it: the pages' text, the
# figures their script filled in, and a screenshot for a person to look at.
#   tools/browser/browser.sh [SCREENSHOT.png]
# Needs bin/edge. Installs Chromium and certutil where they are missing, on
# Debian, as root.
set -eu
cd "$(dirname "$0")/../.."

if ! command -v chromium >/dev/null || ! command -v certutil >/dev/null; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "missing: chromium and certutil (libnss3-tools)" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends chromium libnss3-tools fonts-liberation
fi

work=$(mktemp -d)
shot=${1:-$work/page.png}
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

tools/setup/site.sh bin/edge "$work/site.tar"
bin/edge serve --dev --state-dir "$work/state" --listen 127.0.0.1:0 "$work/site.tar" \
	>"$work/ready" 2>"$work/log" &
server=$!
for _ in $(seq 100); do
	port=$(sed -n 's|^listening https://127\.0\.0\.1:||p' "$work/ready")
	[ -z "$port" ] || break
	sleep 0.1
done
[ -n "$port" ] || { echo "edge did not start:" >&2; cat "$work/log" >&2; exit 1; }

# Chromium reads its authorities from the home directory.
mkdir -p "$work/home/.pki/nssdb"
certutil -d "sql:$work/home/.pki/nssdb" -N --empty-password
certutil -d "sql:$work/home/.pki/nssdb" -A -t C,, -n edge -i "$work/state/dev/authority/ca.pem"

browser() {
	HOME=$work/home timeout 60 chromium --headless=new --no-sandbox --disable-gpu --disable-background-networking \
		--hide-scrollbars --user-data-dir="$work/profile" "$@" 2>"$work/chromium.log"
}

expect() { # expect PATH TEXT
	browser --virtual-time-budget=5000 --dump-dom "https://localhost:$port$1" >"$work/dom"
	grep -qF "$2" "$work/dom" || {
		echo "https://localhost:$port$1 does not show: $2" >&2
		head -c 2000 "$work/dom" >&2
		exit 1
	}
	echo "ok $1"
}

expect / '<h1>It works.</h1>'
expect /connection.html '<td id="protocol">http/1.1</td>'
expect /nowhere '<h1>Nothing here.</h1>'
browser --window-size=1280,1000 --screenshot="$shot" "https://localhost:$port/" >/dev/null
[ -s "$shot" ] && echo "ok screenshot ($(wc -c <"$shot") bytes)"
