#!/bin/sh
# Installs curl, openssl and clang (for the programs of the example site), and with
# `setup.sh tests` the other programs that tests call, where they are missing and
# where this may be done: Debian or a relative, as root. Elsewhere it says what is
# missing; the tests that need it skip and say so as well.
set -eu

missing=
want() { # want PROGRAM PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

want curl curl
want openssl openssl
want clang clang
if [ "${1:-}" = tests ]; then
	want python3 python3
	want nginx nginx
	want wrk wrk
	want h2load nghttp2-client
fi

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	export DEBIAN_FRONTEND=noninteractive
	# No package that comes with a service is to start it (invoke-rc.d(8)).
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		trap 'rm -f $policy' EXIT
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod +x $policy
	fi
	# Without a network this is over soon, and what lists there are may still do.
	apt="apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15"
	$apt update || true
	if $apt install -y --no-install-recommends $missing; then
		exit 0
	fi
fi
echo "missing, and not installed by itself here:$missing (tests that need it are skipped)" >&2
