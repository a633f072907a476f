#!/bin/sh
# A page behind edge in headless Chromium: it posts a body, reads events one by one
# and talks over a WebSocket, all through the proxy, and writes down what came of
# it (tools/browser/app).
#   tools/browser/proxy.sh
# Needs bin/edge. Installs Chromium and certutil where they are missing, on Debian,
# as root.
set -eu
. "$(dirname "$0")/prepare.sh"

need chromium chromium certutil libnss3-tools

go build -o "$work/app" ./tools/browser/app
"$work/app" "@edge-browser-app-$$" &
started="$started $!"
serve edge --dev --state-dir "$work/state" --proxy "unix:@edge-browser-app-$$"
trust "$work/home/.pki/nssdb" "$work/state/dev/authority/ca.pem"

# The page is loaded once it is done: the application holds an image back until then.
in_chromium --dump-dom "https://localhost:$port/" >"$work/dom" || fail "Chromium did not end well:" "$work/chromium.log"
for what in post events echo; do
	grep -qF "<li>$what: as it should be</li>" "$work/dom" || fail "not as it should be: $what" "$work/dom"
	echo "ok chromium: $what through the proxy"
done
