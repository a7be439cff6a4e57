// How much of a full table the tests use: all of it, but little in builds that are slow.
#pragma once

namespace hecto::router::test {

#if defined(__has_feature)
#define HECTO_HAS_FEATURE(x) __has_feature(x)
#else
#define HECTO_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HECTO_HAS_FEATURE(address_sanitizer) || \
    HECTO_HAS_FEATURE(thread_sanitizer) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
inline constexpr double kTableScale = 0.05;
#else
inline constexpr double kTableScale = 1.0;
#endif

}  // namespace hecto::router::test
