# The unit tests of gpu_offload/ for device.sh, which reads this: on the GPU, before anything is timed.
#
# GoogleTest comes as source (.dev/googletest or /usr/src/googletest), as the machine may have neither it
# nor a network; crypto/'s tests need OpenSSL too (.dev/openssl or the system's) and are left out without.
# TESTS=0: none; TESTS=1: with DEVICE=host as well.
tests_objects= helper_tests= crypto_objects= gtest_dir=
tests_wanted=${TESTS:-${gpu:+1}}
if [ "$tests_wanted" = 1 ]; then
  for dir in "$root/.dev/googletest" /usr/src/googletest/googletest; do
    if [ -r "$dir/src/gtest-all.cc" ]; then gtest_dir=$dir; break; fi
  done
  [ -n "$gtest_dir" ] || say "!!! no unit tests: neither .dev/googletest nor /usr/src/googletest is here (bench/offload/carry)"
fi
if [ -n "$gtest_dir" ]; then
  gtest="-I$gtest_dir/include -isystem $gtest_dir"
  add gtest "$cxx" "$standard" -O1 -pthread "$gtest" -c "$gtest_dir/src/gtest-all.cc"
  add gtest_main "$cxx" "$standard" -O1 -pthread "$gtest" -c "$gtest_dir/src/gtest_main.cc"
  tests_flags="$gtest -O1 -fPIC -DHECTO_HOST_PLUGIN='\"$build/libhecto_host.so\"' -DHECTO_CUDA_PLUGIN='\"${gpu:+$plugin}\"'"
  for source in device_test key_table_test keys_at_rate_test stage_test threads_test; do
    add_cxx "tests/unit/gpu_offload/$source.cpp" "$tests_flags"
    tests_objects="$tests_objects $object"
  done
  tests_library=
  for source in gpu_offload/key_table.cpp gpu_offload/devices/scripted.cpp gpu_offload/table_feed.cpp; do
    add_cxx "$source"
    tests_library="$tests_library $object"
  done
  for source in helper_test hostile_helper_test; do
    add_cxx "tests/unit/gpu_offload/$source.cpp" "$gtest -O1 -DHECTO_FAULTY_HELPER='\"$build/hecto-gpu-faulty\"'"
    helper_tests="$helper_tests $object"
  done
  add_cxx tests/unit/gpu_offload/faulty_helper.cpp
  faulty_helper=$object
  # The plug-in of the tests: the host device behind the C interface.
  echo "$cxx $standard $flags -fPIC -shared tests/unit/gpu_offload/host_plugin.cpp gpu_offload/devices/host.cpp" \
    "gpu_offload/kernels.cpp gpu_offload/crypto/launch_host.cpp lookup/memory.cpp base/secret_memory.cpp" \
    "-o $build/libhecto_host.so" >>"$jobs_file"
  openssl="-I$root/.dev/openssl/include" openssl_library=$root/.dev/openssl/libcrypto.a
  if [ ! -r "$openssl_library" ]; then openssl= openssl_library=-lcrypto; fi
  if echo '#include <openssl/evp.h>' | "$cxx" -E -x c++ $openssl - >/dev/null 2>&1; then
    for source in crypto_{aes,hash,gcm,esp,forgery}_test crypto_batch crypto_on_threads; do
      add_cxx "tests/unit/gpu_offload/$source.cpp" "$tests_flags" "$openssl" ${gpu:+-DHECTO_HAVE_CUDA}
      crypto_objects="$crypto_objects $object"
    done
    if [ -n "$gpu" ]; then
      add_cxx tests/unit/gpu_offload/crypto_on_cuda.cpp "$tests_flags" "$openssl" -DHECTO_HAVE_CUDA \
        -isystem "$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include"
      crypto_objects="$crypto_objects $object"
    fi
  else
    say "!!! no tests of crypto/: no OpenSSL headers here (bench/offload/carry)"
  fi
fi

link_tests() {
  [ -n "$gtest_dir" ] || return 0
  local gtest="$build/gtest.o $build/gtest_main.o"
  "$cxx" -o "$build/device-test" $tests_objects $tests_library $library $gtest -pthread -ldl
  "$cxx" -o "$build/helper-test" $helper_tests $tests_library $library $gtest -pthread -ldl
  "$cxx" -o "$build/hecto-gpu-faulty" $faulty_helper $library -pthread -ldl
  [ -n "$crypto_objects" ] || return 0
  if [ -n "$gpu" ]; then
    "$nvcc" -cudart static -o "$build/crypto-test" $crypto_objects $library "$build/cuda_crypto_esp_kernels.cu.o" \
      $gtest $openssl_library -lpthread -ldl
  else
    "$cxx" -o "$build/crypto-test" $crypto_objects $library $gtest $openssl_library -pthread -ldl
  fi
}

# One line a program into the result; what fails is named, and the measurements go on. With compute-sanitizer
# at hand once more under memcheck and racecheck, what fits into its time.
run_tests() {
  [ -n "$gtest_dir" ] || return 0
  local test code passed sanitizer tool
  tests=
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
  for test in device-test crypto-test helper-test; do
    [ -x "$build/$test" ] || continue
    run_test "$test" 60 "$build/$test"
    [ -n "$sanitizer" ] && [ -n "$gpu" ] && [ "$test" != helper-test ] || continue
    for tool in memcheck racecheck; do
      run_test "$test, $tool" 30 "$sanitizer" --tool "$tool" --error-exitcode 9 --target-processes all \
        "$build/$test" '--gtest_filter=*cuda*:*Cuda*:*Gpu*'
    done
  done
  [ -z "$gpu" ] || HECTO_FAULTY_DEVICE=$device run_test 'helper-test on the GPU' 90 "$build/helper-test" \
    '--gtest_filter=All/*:*Killed*'
  tests="[${tests#, }]"
}
run_test() { # NAME SECONDS COMMAND...
  local code=0 log="$parts/${1//[ ,]/-}.log"
  say "unit tests: $1"
  timeout -k 5 "$2" "${@:3}" --gtest_brief=1 >"$log" 2>&1 || code=$?
  tail -n 3 "$log"
  tests="$tests, {\"program\": $(json "$1"), \"exit_code\": $code, \"said\": $(json "$(tail -n 1 "$log")")}"
  if [ "$code" != 0 ]; then
    say "!!! $1: exit code $code; $log"
    failed="$failed, $(json "unit tests $1: exit code $code")"
  fi
}
