#!/bin/sh
# Encrypted ClientHello with real browsers, Chromium and Firefox: each loads the
# example site under a name that is to stay hidden, with what a name server says of
# it over DNS over HTTPS (tools/doh) made by `edge keys`, and the access log tells
# what became of the hello.
#   tools/browser/ech.sh
# Needs bin/edge. Installs the browsers, certutil and openssl where they are
# missing, on Debian, as root.
set -eu
. "$(dirname "$0")/prepare.sh"

need chromium chromium firefox-esr firefox-esr certutil libnss3-tools openssl openssl
hidden=hidden.test
public=public.test

# An authority, and certificates for the names and for the name server.
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=test authority" \
		-addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign \
		-keyout "$work/ca.key" -out "$work/ca.pem" 2>"$work/openssl.log"
}
issue() { # issue FILE SUBJECTALTNAME
	mkdir -p "$(dirname "$1")"
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=test" -keyout "$work/key" -out "$work/csr" 2>"$work/openssl.log"
	printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:false\n' "$2" >"$work/extensions"
	openssl x509 -req -in "$work/csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
		-extfile "$work/extensions" -out "$work/crt" 2>"$work/openssl.log"
	(umask 077 && cat "$work/crt" "$work/key" >"$1")
}
authority
issue "$work/both/public.pem" "DNS:$public"
issue "$work/both/hidden.pem" "DNS:$hidden"
mkdir "$work/public" "$work/hidden"
cp "$work/both/public.pem" "$work/public"
cp "$work/both/hidden.pem" "$work/hidden"
issue "$work/doh.pem" IP:127.0.0.1
trust "$work/home/.pki/nssdb" "$work/ca.pem"

# Keys that are served, and others that are not any more.
for dir in keys stale; do
	bin/edge keys gen-ech --public-name $public --dir "$work/$dir" >"$work/$dir.zone" 2>"$work/keys.log"
done

# The name server. publish DIR|none has it say that the keys in DIR are for the
# server at $port.
: >"$work/zone"
go build -o "$work/doh" ./tools/doh
"$work/doh" --cert "$work/doh.pem" --zone "$work/zone" >"$work/doh.url" 2>"$work/doh.log" &
started="$started $!"
within 20 grep -q https "$work/doh.url" || fail "the name server did not start:" "$work/doh.log"
publish() {
	echo "$hidden. 60 IN A 127.0.0.1" >"$work/zone.new"
	[ "$1" = none ] || bin/edge keys record --dir "$work/$1" --for "$hidden:$port" --ttl 60s >>"$work/zone.new"
	mv "$work/zone.new" "$work/zone"
}

# Each load is by a browser that was never there before.
load_chromium() {
	rm -rf "$work/profile"
	mkdir "$work/profile"
	echo "{\"dns_over_https\":{\"mode\":\"secure\",\"templates\":\"$(cat "$work/doh.url")\"}}" >"$work/profile/Local State"
	in_chromium --virtual-time-budget=10000 --dump-dom "https://$hidden:$port/" >"$work/dom" || true
	grep -qF '<h1>It works.</h1>' "$work/dom" || fail "Chromium does not show the page:" "$work/chromium.log"
}
load_firefox() {
	rm -rf "$work/profile" "$work/page.png"
	trust "$work/profile" "$work/ca.pem"
	cat >"$work/profile/user.js" <<-EOF
		user_pref("network.trr.mode", 3);
		user_pref("network.trr.uri", "$(cat "$work/doh.url")");
		user_pref("network.trr.allow-rfc1918", true);
		user_pref("network.trr.confirmationNS", "skip");
		user_pref("network.captive-portal-service.enabled", false);
		user_pref("network.connectivity-service.enabled", false);
		user_pref("browser.shell.checkDefaultBrowser", false);
		user_pref("datareporting.policy.dataSubmissionEnabled", false);
	EOF
	HOME=$work/home timeout 120 firefox-esr --headless --no-remote --profile "$work/profile" \
		--screenshot "$work/page.png" "https://$hidden:$port/" >"$work/firefox.log" 2>&1 || true
	[ -s "$work/page.png" ] || fail "Firefox does not show the page:" "$work/firefox.log"
}

# logged NAME TEXT ... waits for a line with each text in NAME's access log since
# the last look.
seen=0
logged() {
	log=$work/$1.access
	shift
	for text in "$@"; do
		within 5 new_line "$text" || fail "no line has $text:" "$log"
	done
	seen=$(wc -l <"$log")
}
new_line() { tail -n "+$((seen + 1))" "$log" | grep -qF "$1"; }

# told NAME TEXT looks for what the error log says.
told() { within 5 grep -qF "$2" "$work/$1.log" || fail "$1 does not say: $2" "$work/$1.log"; }

tools/setup/site.sh bin/edge "$work/site.tar"
accepted="\"sni\":\"$public\",\"tls\":\"1.3\""

serve shared --cert-dir "$work/both" --ech "$work/keys" "$work/site.tar"
for browser in chromium firefox; do
	publish keys
	load_$browser
	logged shared "$accepted" '"ech":"accepted","inner":"'$hidden'"'
	echo "ok $browser: accepted"

	publish none
	load_$browser
	logged shared "\"sni\":\"$hidden\"" '"ech":"grease"'
	echo "ok $browser: without a record, GREASE"

	publish stale
	load_$browser
	logged shared "$accepted" '"ech":"accepted","inner":"'$hidden'"'
	told shared "peer alert ech_required"
	echo "ok $browser: a stale record, retried with the configs that it was given"
	: >"$work/shared.log"
done

# A hidden origin behind a front that holds no certificate for the hidden name.
serve origin --cert-dir "$work/hidden" --ech-backend 127.0.0.1 "$work/site.tar"
serve front --cert-dir "$work/public" --ech "$work/keys" --origin "$hidden=127.0.0.1:$port"
seen=0
publish keys
load_chromium
logged front '"ech":"accepted","inner":"'$hidden'"'
seen=0
logged origin "\"sni\":\"$hidden\""
echo "ok chromium: a hidden origin behind a front"

# A stale record, and the public name relayed to a server that knows nothing of ECH:
# that says, with the certificate of the public name, that there is none.
serve behind --cert-dir "$work/public" "$work/site.tar"
serve relaying --cert-dir "$work/hidden" --ech "$work/keys" --relay "$public=127.0.0.1:$port" "$work/site.tar"
seen=0
publish stale
load_chromium
logged relaying '"ech":"relayed"' "\"sni\":\"$hidden\""
echo "ok chromium: a stale record and a relay, goes on without ECH"
