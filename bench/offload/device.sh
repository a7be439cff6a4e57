#!/bin/bash
# Builds, tests and times look-ups and ESP on a GPU, and on CPU threads beside it, with g++ and nvcc
# alone: no DPDK, no meson, no network. Under 9 minutes on a machine with a GPU and 16 cores.
#
#   bench/offload/device.sh                   the first GPU
#   DEVICE=cuda:1 bench/offload/device.sh     another one (numbers as nvidia-smi has them)
#   DEVICE=host bench/offload/device.sh       CPU threads; needs no CUDA
#   BUILD_ONLY=1                              builds, runs nothing
#
# Kind by kind, each a process of its own: what fails, crashes or takes too long costs that kind and is
# named under "failed"; exit code 1 then. The result grows with each step:
# ${OUT:-build/device}/offload-GPU-DATE.json, for docs/results/.
#
# TABLE: a file with a prefix a line, plain or .gz; else .dev/full-table.prefixes.txt.gz (bench/offload/carry
# puts it there, with what the unit tests need), $HECTO_DATA/…, ../shared/data/…, or the synthetic table.
# KINDS: only the kinds of work that begin so, as in ipv4,seal-gcm. QUICK=1: few and small. LIMIT: seconds
# for all of it. COMMIT: of this tree, where there is no git. CXX, NVCC: the compilers.
set -euo pipefail

device=${DEVICE:-cuda:0}
cxx=${CXX:-g++}
root=$(cd "$(dirname "$0")/../.." && pwd)
command="${DEVICE:+DEVICE=$DEVICE }${KINDS:+KINDS=$KINDS }${QUICK:+QUICK=$QUICK }${TABLE:+TABLE=$TABLE }bench/offload/device.sh"
cd "$root"
out=${OUT:-build/device}
mkdir -p "$out"
out=$(cd "$out" && pwd)
build=${BUILD:-$root/build/device/objects}
mkdir -p "$build"
start=$SECONDS
limit=${LIMIT:-520}
export CUDA_DEVICE_ORDER=PCI_BUS_ID

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
# As lookup/meson.build: a name, then its flags.
isas=()
case $(uname -m) in
  x86_64)
    isas=("avx2 -march=x86-64-v3" "avx512 -march=x86-64-v4" "avx512_gather -march=x86-64-v4 -mavx512vpopcntdq")
    ;;
  aarch64) isas=("neon -march=armv8-a") ;;
esac
plugin=$build/libhecto_cuda.so

# --- What is compiled: a line each, name of the object, then the command.
jobs_file=$build/jobs
: >"$jobs_file"
library= bench=
add() { # OBJECT COMMAND...
  echo "${*:2} -o $build/$1.o" >>"$jobs_file"
}
add_cxx() { # SOURCE FLAGS...: the object's name is left in $object
  object=$build/${1//\//_}.o
  add "${1//\//_}" "$cxx" "$standard" "$flags" "${@:2}" -c "$1"
}
have=
for isa in "${isas[@]}"; do
  add_cxx "lookup/kernel_${isa%% *}.cpp" "${isa#* }" -Wno-maybe-uninitialized
  library="$library $object"
  have="$have -DLOOKUP_HAVE_$(echo "${isa%% *}" | tr a-z A-Z)"
done
for source in lookup/{prefix,memory,direct_table,fib4,fib6,journal,kernel_scalar,pool}.cpp \
  base/secret_memory.cpp gpu_offload/crypto/{prepare,launch_host}.cpp \
  base/file_descriptor.cpp \
  gpu_offload/{decision,device,device_control,kernels,shader,stage,table_mirror}.cpp \
  gpu_offload/devices/{helper,host,plugin}.cpp gpu_offload/helper/{keeper,protocol,server,shared_memory}.cpp; do
  add_cxx "$source"
  library="$library $object"
done
add_cxx lookup/kernels.cpp "$have"
library="$library $object"
add_cxx gpu_offload/devices/open.cpp "-DHECTO_CUDA_PLUGIN_PATH='\"$plugin\"'" \
  "-DHECTO_GPU_HELPER_PATH='\"$build/hecto-gpu\"'"
library="$library $object"
add_cxx gpu_offload/devices/hecto_gpu.cpp
helper_main=$object
for source in lib/{synthetic_table,destinations,energy} \
  offload/{crossover,measure,offload,report,threads,worker,workload}; do
  add_cxx "bench/$source.cpp"
  bench="$bench $object"
done
add_cxx bench/offload/device_main.cpp ${gpu:+-DHECTO_OFFLOAD_CUDA}
bench="$bench $object"
if [ -n "$gpu" ]; then
  arch=$(nvidia-smi -i "$gpu" --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' || true)
  [[ $arch =~ ^[0-9]+$ ]] || arch=90
  nvcc_flags="-std=c++20 -O3 -lineinfo -Xcompiler -fPIC -gencode arch=compute_$arch,code=sm_$arch -I$root"
  cuda_objects=
  for source in crypto/esp_kernels.cu cuda/kernels.cu cuda/cuda_device.cpp cuda/cuda_queue.cpp \
    cuda/plugin.cpp; do
    name=cuda_${source//\//_}
    add "$name" "$nvcc" "$nvcc_flags" -c "gpu_offload/$source"
    cuda_objects="$cuda_objects $build/$name.o"
  done
  add cuda_bench "$nvcc" "$nvcc_flags" -c bench/offload/kernels.cu
fi
. "$root/bench/offload/device_tests.sh"

say "compiling $(wc -l <"$jobs_file") files with $cxx${gpu:+ and $nvcc for sm_$arch}"
# xargs gives a failure's exit code; the compiler has said why.
tr '\n' '\0' <"$jobs_file" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c || die "does not compile"

say "linking hecto-offload${gpu:+ and libhecto_cuda.so}"
program=$build/hecto-offload
if [ -n "$gpu" ]; then
  "$nvcc" -shared -cudart static -o "$plugin" $cuda_objects
  "$nvcc" -cudart static -o "$program" $bench $library "$build/cuda_bench.o" \
    "$build/cuda_crypto_esp_kernels.cu.o" "$build/cuda_cuda_kernels.cu.o" \
    -Xlinker --gc-sections -lpthread -ldl
  export HECTO_CUDA_PLUGIN=$plugin
else
  "$cxx" -o "$program" $bench $library -Wl,--gc-sections -pthread -ldl
fi
"$cxx" -o "$build/hecto-gpu" "$helper_main" $library -Wl,--gc-sections -pthread -ldl
export HECTO_GPU_HELPER=$build/hecto-gpu
link_tests
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
commit=${COMMIT:-$(git describe --always --dirty 2>/dev/null || true)}
[ -n "$commit" ] || say "!!! no commit: there is no git here and COMMIT is not set; the result cannot be kept"
date=$(date -u +%F)
slug=$(echo "$name" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
result=$out/offload-$slug-$date.json
say "device $device: $name $driver $link; CPU $cpu, $(nproc) cores; commit ${commit:-unknown}"

prefixes=
for file in "${TABLE:-}" .dev/full-table.prefixes.txt.gz "${HECTO_DATA:-}/full-table.prefixes.txt.gz" \
  "$root/../shared/data/full-table.prefixes.txt.gz"; do
  [ -r "$file" ] || continue
  prefixes=$build/prefixes.txt
  case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac >"$prefixes"
  say "table: $file, $(wc -l <"$prefixes") prefixes"
  break
done
[ -n "${TABLE:-}" ] && [ ! -r "$TABLE" ] && die "TABLE=$TABLE: cannot be read"
table=$([ -n "$prefixes" ] && basename "$file" || echo synthetic)
[ -n "$prefixes" ] || say "!!! SYNTHETIC TABLE: there is no .dev/full-table.prefixes.txt.gz and no TABLE; look-ups here are not those of a real table"

# --- Step by step; after each the result is written anew.
failed= parts=$out/parts
rm -rf "$parts"
mkdir -p "$parts"
tests=null
kinds=()
while read -r kind; do kinds+=("$kind"); done < <(env -u KINDS "$program" kinds)
chosen() { # KIND
  [ -z "${KINDS:-}" ] && return
  local beginnings beginning
  IFS=, read -ra beginnings <<<"$KINDS"
  for beginning in "${beginnings[@]}"; do case $1 in "$beginning"*) return ;; esac; done
  return 1
}
part() { # FILE: what is there of it, or null
  if [ -s "$1" ]; then cat "$1"; else echo null; fi
}
assemble() {
  {
    printf '{\n"gpu": %s,\n"driver": %s,\n"link": %s,\n' "$(json "$name")" "$(json "$driver")" "$(json "$link")"
    printf '"cpu": %s,\n"cores": %s,\n"compiler": %s,\n' "$(json "$cpu")" "$(nproc)" \
      "$(json "$("$cxx" --version | head -n 1)${gpu:+, $("$nvcc" --version | tail -n 1)}")"
    printf '"command": %s,\n"date": "%s",\n"commit": %s,\n"table": %s,\n' "$(json "$command")" "$date" \
      "$(json "$commit")" "$(json "$table")"
    printf '"seconds": %s,\n"failed": [%s],\n"tests": %s,\n' "$((SECONDS - start))" "${failed#, }" "$tests"
    printf '"copies": %s,\n"kinds": {' "$(part "$parts/copies.json")"
    local kind first=
    for kind in "${kinds[@]}"; do
      chosen "$kind" || continue
      printf '%s\n%s: {' "$first" "$(json "$kind")"
      local what between=
      for what in check kernels time threads worker inline; do
        printf '%s\n"%s": %s' "$between" "$what" "$(part "$parts/${kind// /-}.$what.json")"
        between=,
      done
      printf '}'
      first=,
    done
    printf '\n}\n}\n'
  } >"$result.new"
  mv "$result.new" "$result"
}
step() { # WHAT KIND SECONDS
  local left=$((limit - (SECONDS - start))) file="$parts/${2// /-}.$1.json"
  [ "$2" = copies ] && file=$parts/copies.json
  if [ "$left" -lt 5 ]; then
    failed="$failed, $(json "$1 $2: no time left")"
  else
    [ "$left" -lt "$3" ] || left=$3
    say "$1: $2"
    local code=0
    KINDS=$2 timeout -k 5 "$left" "$program" "$1" "$device" "$file" $prefixes >"$file.log" 2>&1 || code=$?
    if [ "$code" != 0 ]; then
      rm -f "$file"
      local why
      why=$([ "$code" = 124 ] && echo "longer than $left s" || tail -n 1 "$file.log")
      say "!!! $1 $2: exit code $code: $why"
      failed="$failed, $(json "$1 $2: exit code $code: $why")"
    else
      cat "$file.log"
    fi
  fi
  assemble
}

run_tests
assemble
first=(ipv4 ipv6 'seal-gcm 1400' 'open-gcm 1400' 'seal-cbc-sha1 1392' 'open-cbc-sha1 1392')
is_first() { local one; for one in "${first[@]}"; do [ "$one" = "$1" ] && return; done; return 1; }
ordered=()
for kind in "${kinds[@]}"; do if chosen "$kind" && is_first "$kind"; then ordered+=("$kind"); fi; done
for kind in "${kinds[@]}"; do if chosen "$kind" && ! is_first "$kind"; then ordered+=("$kind"); fi; done
for kind in "${ordered[@]}"; do step check "$kind" 40; done
[ -z "$gpu" ] || step kernels copies 20
for kind in "${ordered[@]}"; do
  [ -z "$gpu" ] || step kernels "$kind" 30
  step time "$kind" 30
  if is_first "$kind"; then step threads "$kind" 20; fi
  case $kind in ipv4 | ipv6) step worker "$kind" 25 && step inline "$kind" 20 ;; esac
done
say "written: $result"
[ -z "$gpu" ] || say "to keep it: cp $result docs/results/, and quote it in docs/offload.md"
[ -z "$failed" ] || die "not all of it: ${failed#, }"
