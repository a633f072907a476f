#!/bin/sh
# Makes the objects beside the .c files of this folder and of the commands: tests and
# the binary use the results as they are, so that they need no compiler.
#
#	./build.sh [clang]
set -eu
cd "$(dirname "$0")"
clang=${1:-clang}
for c in *.c ../../../edge/cmd/programs/*.c; do
	"$clang" -target bpfel -mcpu=v3 -O2 -g -std=gnu11 -ffreestanding -fno-builtin -Wall -Werror \
		-fdebug-compilation-dir=. -I ../../../edge/sdk -c "$c" -o "${c%.c}.o"
	llvm-strip -g "${c%.c}.o"
done
