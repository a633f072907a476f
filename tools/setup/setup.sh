#!/bin/sh
# Installs the programs that some tests call, and clang for the programs of the
# example site, where they are missing and where this may be done: Debian or a
# relative, as root. Elsewhere it says what is missing; the tests that need it skip
# and say so as well.
set -eu

missing=
want() { # want PROGRAM PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

want curl curl
want openssl openssl
want clang clang

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	export DEBIAN_FRONTEND=noninteractive
	if apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; then
		exit 0
	fi
fi
echo "missing programs (some tests will be skipped):$missing" >&2
