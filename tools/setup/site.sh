#!/bin/sh
# Packs the example site: site.sh EDGE OUTPUT. Its programs are in C; where there is
# no clang to compile them it is packed without them, and says so.
set -eu

site=examples/site
if ! command -v clang >/dev/null 2>&1; then
	echo "clang is missing: the example site is packed without its programs. Install clang and make run again to have them" >&2
	plain=$(mktemp -d)
	trap 'rm -rf "$plain"' EXIT
	cp -R "$site/." "$plain"
	rm -rf "$plain/.edge"
	site=$plain
fi
"$1" pack "$site" -o "$2"
