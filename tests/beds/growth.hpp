// How the time of work grows with its size. Ratios are the same on a slow or busy machine and in a build
// without optimization; no test fails on a time by itself.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace hecto {

// This thread's own time: others may be at work, too.
inline double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

template <typename Work>
double ms_of(Work& work) {
  const double start = thread_ms();
  work();
  return thread_ms() - start;
}

// Of so many tries.
template <typename Work>
double least_ms(unsigned tries, Work work) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned i = 0; i < tries; ++i) least = std::min(least, ms_of(work));
  return least;
}

struct Growth {
  double small_ms = std::numeric_limits<double>::infinity();  // the least of all tries
  double large_ms = small_ms;
  double times() const { return large_ms / small_ms; }
};

// Both take turns. Of ten times the work less than 40 times the time is in proportion: caches have
// their share, and what goes by the square would be a hundred.
template <typename Small, typename Large>
Growth growth(unsigned tries, Small small, Large large) {
  Growth least;
  for (unsigned i = 0; i < tries; ++i) {
    least.small_ms = std::min(least.small_ms, ms_of(small));
    least.large_ms = std::min(least.large_ms, ms_of(large));
  }
  return least;
}
inline constexpr double kInProportionOfTen = 40;

}  // namespace hecto
