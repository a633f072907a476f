#!/bin/sh
# Loads the example site in headless Chromium, with the development authority
# trusted, and looks at what the browser made of it: the pages' text, the
# figures their script filled in, and a screenshot for a person to look at.
#   tools/browser/browser.sh [SCREENSHOT.png]
# Needs bin/edge. Installs Chromium and certutil where they are missing, on
# Debian, as root.
set -eu
. "$(dirname "$0")/prepare.sh"

need chromium chromium certutil libnss3-tools
shot=${1:-$work/page.png}

tools/setup/site.sh bin/edge "$work/site.tar"
go build -o "$work/app" ./examples/app
"$work/app" "@edge-browser-$$" & # ends with this script
serve edge --dev --state-dir "$work/state" --proxy "/api=unix:@edge-browser-$$" "$work/site.tar"
trust "$work/home/.pki/nssdb" "$work/state/dev/authority/ca.pem"

expect() { # expect PATH TEXT
	in_chromium --virtual-time-budget=5000 --dump-dom "https://localhost:$port$1" >"$work/dom"
	grep -qF "$2" "$work/dom" || fail "https://localhost:$port$1 does not show: $2" "$work/dom"
	echo "ok $1"
}

expect / '<h1>It works.</h1>'
expect /connection.html '<td id="protocol">http/1.1</td>'
expect /api/ 'from the application behind edge'
expect /nowhere '<h1>Nothing here.</h1>'
in_chromium --window-size=1280,1000 --screenshot="$shot" "https://localhost:$port/" >/dev/null
[ -s "$shot" ] && echo "ok screenshot ($(wc -c <"$shot") bytes)"
