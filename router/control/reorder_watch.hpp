// How much of the TCP that comes in by bonds is out of order, over the last minute, by the workers'
// samples (PortCounters). Told once in the log, and for the operator as long as it goes on. Control
// only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace hecto::router {

class ForwardingPlane;
class Sampler;

struct Reorder {
  uint64_t segments = 0, reordered = 0;
  std::string trouble;  // empty: none
  double percent() const {
    return segments == 0 ? 0
                         : 100.0 * static_cast<double>(reordered) / static_cast<double>(segments);
  }
};

class ReorderWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSpan{60};
  static constexpr uint64_t kEnough = 200;  // segments, to say something
  static constexpr double kMuch_percent = 1;

  // Behind each sample. Returns what is seen of a bond for the first time, a line each.
  std::vector<std::string> sampled(const ForwardingPlane& plane, const Sampler& sampler,
                                   Clock::time_point now);
  Reorder of(const std::string& bond) const;  // in the last minute

 private:
  struct Point {
    Clock::time_point time;
    uint64_t segments = 0, reordered = 0;  // since the port's start
  };
  struct Seen {
    std::deque<Point> points;  // the first is a minute old, or the port's start
    Reorder last;
    bool told = false;
  };
  std::map<std::string, Seen> bonds_;
};

}  // namespace hecto::router
