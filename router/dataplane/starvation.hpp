// Workers that do not get their CPU: ready to run while something else had it. A worker that waits
// looks idle, for it does not know what it missed.
//
// Control thread only.
#pragma once

#include <string>
#include <vector>

#include "router/dataplane/sampler.hpp"

namespace hecto::router {

class Starvation {
 public:
  struct Place {
    unsigned worker = 0, cpu = 0;
  };
  // Of a second in each kSeconds in turn: more than this of it, and it is told.
  static constexpr double kWorthTelling_percent = 10;
  static constexpr unsigned kSeconds = 5;

  // Behind each sample. Lines for the log: of who begins to starve, and of who does no more.
  std::vector<std::string> watch(const Sampler& sampler, const std::vector<Place>& workers);
  std::vector<std::string> lines() const;  // of who starves now, for the operator

 private:
  struct Worker {
    unsigned cpu = 0;
    unsigned seconds = 0;  // in a row that it has starved, or, while it does, that it has not
    bool starves = false;
    CpuShare last;
  };
  std::vector<Worker> workers_;
};

}  // namespace hecto::router
