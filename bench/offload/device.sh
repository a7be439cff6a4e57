#!/bin/bash
# Builds, checks and times look-ups and ESP on a GPU, and on CPU threads beside it, with g++ and nvcc
# alone: no DPDK, no meson, no network. Under 8 minutes on a machine with a GPU and 16 cores.
#
#   bench/offload/device.sh                   the first GPU
#   DEVICE=cuda:1 bench/offload/device.sh     another one
#   DEVICE=host bench/offload/device.sh       CPU threads; needs no CUDA
#
# Leaves device.json (and its parts) in ${OUT:-build/device}. TABLE: a file with a prefix a line, plain or
# .gz; else $HECTO_DATA/full-table.prefixes.txt.gz, ../shared/data/…, or the synthetic table.
# KINDS: only the kinds of work that begin so, as in ipv4,seal-gcm. CXX, NVCC: the compilers.
set -euo pipefail

device=${DEVICE:-cuda:0}
cxx=${CXX:-g++}
root=$(cd "$(dirname "$0")/../.." && pwd)
command="${DEVICE:+DEVICE=$DEVICE }${KINDS:+KINDS=$KINDS }${TABLE:+TABLE=$TABLE }bench/offload/device.sh"
cd "$root"
out=${OUT:-build/device}
mkdir -p "$out"
out=$(cd "$out" && pwd)
build=${BUILD:-$root/build/device/objects}
mkdir -p "$build"
start=$SECONDS

say() { echo "[$((SECONDS - start)) s] $*"; }
die() { echo "device.sh: $*" >&2; exit 1; }

case $device in
  host) gpu= ;;
  cuda:[0-9]*) gpu=${device#cuda:} ;;
  *) die "DEVICE=$device: has to be host or cuda:N" ;;
esac
command -v "$cxx" >/dev/null || die "$cxx: no such compiler; CXX names another"
if [ -n "$gpu" ]; then
  nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  [ -x "$nvcc" ] || die "$nvcc: no such compiler; NVCC names another, DEVICE=host needs none"
fi

# --- Compilers' arguments.
flags="-O3 -DNDEBUG -D_GNU_SOURCE -Wall -Wextra -ffunction-sections -pthread -I$root"
standard=-std=c++20
if ! echo '#include <tl/expected.hpp>' | "$cxx" -E -x c++ - >/dev/null 2>&1; then
  say "no tl/expected.hpp here: std::expected of C++23 takes its place"
  standard=-std=c++23
  mkdir -p "$build/include/tl"
  printf '%s\n' '#pragma once' '#include <expected>' \
    'namespace tl { using std::expected; using std::unexpected; }' >"$build/include/tl/expected.hpp"
  flags="$flags -I$build/include"
fi
isas=
case $(uname -m) in
  x86_64) isas="avx2:-march=x86-64-v3 avx512:-march=x86-64-v4" ;;
  aarch64) isas="neon:-march=armv8-a" ;;
esac

# --- What is compiled: a line each, name of the object, then the command.
jobs_file=$build/jobs
: >"$jobs_file"
objects=
add() { # OBJECT COMMAND...
  echo "${*:2} -o $build/$1.o" >>"$jobs_file"
}
add_cxx() { # SOURCE FLAGS...
  local name=${1//\//_}
  add "$name" "$cxx" "$standard" "$flags" "${@:2}" -c "$1"
  objects="$objects $build/$name.o"
}
have=
for isa in $isas; do
  add_cxx "lookup/kernel_${isa%%:*}.cpp" "${isa#*:}" -Wno-maybe-uninitialized
  have="$have -DLOOKUP_HAVE_$(echo "${isa%%:*}" | tr a-z A-Z)"
done
for source in prefix memory direct_table fib4 fib6 journal kernel_scalar pool; do
  add_cxx "lookup/$source.cpp"
done
add_cxx lookup/kernels.cpp "$have"
for source in crypto/prepare crypto/launch_host device kernels devices/host devices/plugin; do
  add_cxx "gpu_offload/$source.cpp"
done
add_cxx gpu_offload/devices/open.cpp "-DHECTO_CUDA_PLUGIN_PATH='\"$out/libhecto_cuda.so\"'"
add_cxx base/secret_memory.cpp
add_cxx bench/lib/synthetic_table.cpp
add_cxx bench/lib/destinations.cpp
add_cxx bench/lib/energy.cpp
for source in crossover measure offload report workload; do add_cxx "bench/offload/$source.cpp"; done
add_cxx bench/offload/device_main.cpp ${gpu:+-DHECTO_OFFLOAD_CUDA}
if [ -n "$gpu" ]; then
  arch=$(nvidia-smi -i "$gpu" --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' || true)
  [[ $arch =~ ^[0-9]+$ ]] || arch=90
  nvcc_flags="-std=c++20 -O3 -Xcompiler -fPIC -gencode arch=compute_$arch,code=sm_$arch -I$root"
  cuda_objects=
  for source in crypto/esp_kernels.cu cuda/kernels.cu cuda/cuda_device.cpp cuda/cuda_queue.cpp \
    cuda/plugin.cpp; do
    name=cuda_${source//\//_}
    add "$name" "$nvcc" "$nvcc_flags" -c "gpu_offload/$source"
    cuda_objects="$cuda_objects $build/$name.o"
  done
  add cuda_bench "$nvcc" "$nvcc_flags" -c bench/offload/kernels.cu
fi

say "compiling $(wc -l <"$jobs_file") files with $cxx${gpu:+ and $nvcc for sm_$arch}"
# xargs gives a failure's exit code; the compiler has said why.
tr '\n' '\0' <"$jobs_file" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c || die "does not compile"

say "linking hecto-offload${gpu:+ and libhecto_cuda.so}"
program=$build/hecto-offload
if [ -n "$gpu" ]; then
  "$nvcc" -shared -cudart static -o "$out/libhecto_cuda.so" $cuda_objects
  "$nvcc" -cudart static -o "$program" $objects "$build/cuda_bench.o" \
    "$build/cuda_crypto_esp_kernels.cu.o" "$build/cuda_cuda_kernels.cu.o" \
    -Xlinker --gc-sections -lpthread -ldl
  export HECTO_CUDA_PLUGIN=$out/libhecto_cuda.so
else
  "$cxx" -o "$program" $objects -Wl,--gc-sections -pthread -ldl
fi
[ "${BUILD_ONLY:-}" = 1 ] && { say "built: $program"; exit 0; }

# --- What it runs on.
json() { printf '"%s"' "$(printf %s "$1" | tr -d '\n' | sed 's/[\\"]/\\&/g')"; }
query() { nvidia-smi -i "$gpu" --query-gpu="$1" --format=csv,noheader; }
name=CPU driver= link=
if [ -n "$gpu" ]; then
  nvidia-smi -i "$gpu" -L >/dev/null 2>&1 ||
    die "$device: no GPU answers here (nvidia-smi -i $gpu -L fails); it is built, and DEVICE=host runs on CPU threads"
  name=$(query name)
  driver=$(query driver_version)
  link="PCIe gen $(query pcie.link.gen.max) x$(query pcie.link.width.max) at most"
fi
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
say "device $device: $name $driver $link; CPU $cpu, $(nproc) cores"

prefixes=
for file in "${TABLE:-}" "${HECTO_DATA:-}/full-table.prefixes.txt.gz" \
  "$root/../shared/data/full-table.prefixes.txt.gz"; do
  [ -r "$file" ] || continue
  prefixes=$build/prefixes.txt
  case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac >"$prefixes"
  say "table: $(basename "$file")"
  break
done
[ -n "${TABLE:-}" ] && [ ! -r "$TABLE" ] && die "TABLE=$TABLE: cannot be read"
[ -n "$prefixes" ] || say "table: synthetic"

# --- Checks first, then times.
say "checking every kind of work at every batch size against the CPU's answers"
timeout 150 "$program" check "$device" "$out/check.json" $prefixes || die "$device: the check failed"
kernels=null
if [ -n "$gpu" ]; then
  say "timing kernels and copies alone"
  timeout 120 "$program" kernels "$device" "$out/kernels.json" $prefixes || die "$device: kernels failed"
  kernels=$(cat "$out/kernels.json")
fi
say "timing end to end"
timeout 240 "$program" time "$device" "$out/offload.json" $prefixes || die "$device: timing failed"

{
  printf '{\n"gpu": %s,\n"driver": %s,\n"link": %s,\n' "$(json "$name")" "$(json "$driver")" "$(json "$link")"
  printf '"cpu": %s,\n"cores": %s,\n"compiler": %s,\n' "$(json "$cpu")" "$(nproc)" \
    "$(json "$("$cxx" --version | head -n 1)${gpu:+, $("$nvcc" --version | tail -n 1)}")"
  printf '"command": %s,\n"date": "%s",\n' "$(json "$command")" "$(date -u +%FT%TZ)"
  printf '"commit": %s,\n' "$(json "$(git describe --always --dirty 2>/dev/null || true)")"
  printf '"kernels": %s,\n"offload": %s\n}\n' "$kernels" "$(cat "$out/offload.json")"
} >"$out/device.json"
say "written: $out/device.json"
