#!/bin/sh
# Builds the look-up tests for AArch64 and runs them under qemu: the NEON kernels on an x86 machine.
#
#     tests/neon.sh FOLDER [GTEST_ARGUMENT...]
set -eu
cd "$(dirname "$0")/.."
out=${1:?folder for what is built}
shift
gtest=/usr/src/googletest/googletest
compiler=aarch64-linux-gnu-g++

missing=
command -v $compiler >/dev/null || missing="$missing g++-aarch64-linux-gnu"
command -v qemu-aarch64 >/dev/null || missing="$missing qemu-user"
[ -e $gtest/src/gtest-all.cc ] || missing="$missing googletest"
if [ -n "$missing" ]; then
  echo "test-neon: apt-get install$missing" >&2
  exit 1
fi

mkdir -p "$out"
objects=
for source in $gtest/src/gtest-all.cc $gtest/src/gtest_main.cc lookup/*.cpp \
    tests/unit/lookup/differential_test.cpp tests/unit/lookup/fib_test.cpp \
    tests/unit/lookup/kernels_test.cpp tests/unit/lookup/tables_test.cpp; do
  case $source in lookup/kernel_avx*) continue ;; esac
  object=$out/$(basename "$source" .cpp).o
  # tl/expected.hpp has no machine code: the x86 machine's own will do.
  $compiler -std=c++20 -O2 -pthread -DLOOKUP_HAVE_NEON -I. -I$gtest -I$gtest/include \
    -idirafter /usr/include -c "$source" -o "$object"
  objects="$objects $object"
done
# shellcheck disable=SC2086
$compiler -static $objects -o "$out/lookup_neon_tests" 2>/dev/null
# A death test starts its program again, which qemu does not do for it.
exec qemu-aarch64 "$out/lookup_neon_tests" --gtest_filter=-*DeathTest* "$@"
