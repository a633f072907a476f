#!/bin/sh
# Makes the objects beside this file out of the .c files, with every clang named on
# the command line: ./build.sh clang-14 clang-19. Tests use the results as they are.
set -eu
cd "$(dirname "$0")"
for clang in "$@"; do
	version=$("$clang" -dumpversion)
	out=clang${version%%.*}
	mkdir -p "$out"
	for c in *.c; do
		# Two hundred sections are large, and alike whoever made them.
		[ "$c" = sections.c ] && [ "$clang" != "$1" ] && continue
		cpu=v3
		[ "$c" = v4.c ] && cpu=v4
		"$clang" -target bpfel -mcpu=$cpu -O2 -g -fdebug-prefix-map="$PWD"=. -c "$c" -o "$out/${c%.c}.o" || {
			echo "$c: not with clang ${version%%.*}" >&2
			rm -f "$out/${c%.c}.o"
			continue
		}
		llvm-strip -g "$out/${c%.c}.o"
	done
	# The same without type information, and for the other byte order.
	for c in strings globals calls maps named; do
		"$clang" -target bpfel -mcpu=v3 -O1 -c $c.c -o "$out/${c}_nobtf.o"
	done
	"$clang" -target bpfel -O2 -c globals.c -o "$out/refused_stripped.o"
	llvm-strip --strip-all "$out/refused_stripped.o"
	"$clang" -target bpfeb -O2 -c globals.c -o "$out/refused_bigendian.o"
done
