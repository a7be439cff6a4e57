// The same line again and again: kMost of it in a window pass, the rest is counted and told when the
// window ends.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hecto::router {

class RepeatLimit {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMost = 5;
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr size_t kMostTexts = 256;  // in their windows at once; others pass

  // What was held back: "TEXT … 57 times more".
  struct Held {
    int level = 0;
    std::string line;
  };

  // Whether the line passes; else it is counted.
  bool passes(std::string_view text, int level, Clock::time_point now);
  // Of windows that have ended by `now`; Clock::time_point::max(): of all.
  std::vector<Held> take(Clock::time_point now);
  // When the first window ends that holds something back.
  std::optional<Clock::time_point> due() const;

 private:
  struct Window {
    int level = 0;
    uint64_t lines = 0;
    Clock::time_point end;
    bool holds() const { return lines > kMost; }
  };
  std::unordered_map<std::string, Window> windows_;
};

}  // namespace hecto::router
