// The clock of tests of rates and buckets.
#pragma once

#include <cstdint>

namespace hecto::router::test {

inline constexpr uint64_t kHz = 1'000'000;  // a cycle is a microsecond

}  // namespace hecto::router::test
