// Workers that do not come round: an endless loop, a driver that does not return, or a cpu that they
// never get. One that rests wakes several times a second and counts a turn each time, so that the
// turns which all workers count anyway tell it.
//
// Control thread only.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "router/dataplane/sampler.hpp"
#include "router/dataplane/starvation.hpp"

namespace hecto::router {

class StuckWorkers {
 public:
  // Seconds in a row without a turn. Samples are counted, not time: where the whole process stood
  // still (SIGSTOP, a virtual machine that was moved), no worker is to blame.
  static constexpr unsigned kSeconds = 5;

  // Behind each sample. Lines for the log: of who is stuck, and of who goes on.
  std::vector<std::string> watch(const Sampler& sampler,
                                 const std::vector<Starvation::Place>& workers, std::time_t now);
  bool any() const;
  std::vector<std::string> lines() const;  // of who is stuck now, for the operator

 private:
  struct Worker {
    unsigned cpu = 0;
    unsigned seconds = 0;
    std::time_t since = 0;
    bool stuck() const { return seconds >= kSeconds; }
  };
  static std::string text(size_t id, const Worker& worker);

  std::vector<Worker> workers_;
};

}  // namespace hecto::router
