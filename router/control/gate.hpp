// When packets flow: not before the file is applied and the first full set of Linux's routes, SAs and
// policies is in place, and not while a policy may have been lost. Till then all that comes in is
// dropped as not_ready, but for what a link lives by, and so is what Linux sends.
//
//   routes    the first reading of Linux's has ended; where no policy is wanted and it takes longer
//             than kPatience, forwarding begins with those that are known; after a restart it
//             begins at once, by the tables of the run before
//   policies  all of Linux's have been read, and no notification was lost since: without that it
//             stays closed, for as long as it takes
//
// Said once when it closes, opens late or opens again, and each kRepeat while it is closed. Control
// only.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/log_level.hpp"

namespace hecto::router {

class Gate {
 public:
  using Clock = std::chrono::steady_clock;
  using Log = std::function<void(LogLevel, const std::string& line)>;
  static constexpr std::chrono::seconds kPatience{30}, kRepeat{10};

  // What is known of what is mirrored; what is not mirrored is known.
  struct Known {
    bool routes = false;
    bool policies = false;
    bool policies_wanted = false;  // Linux has, or may have, some, or the file
    bool inherited = false;  // the tables of the run before hold as long as routes are not known
  };

  Gate(Clock::time_point start, Log log) : start_(start), said_(start), log_(std::move(log)) {}

  bool update(const Known& known, Clock::time_point now);  // returns open()
  bool open() const { return open_; }

 private:
  void opens(const Known& known);
  void stays_closed(const Known& known, Clock::time_point now);

  const Clock::time_point start_;
  Clock::time_point said_;
  const Log log_;
  bool open_ = false, ever_open_ = false;
  bool told_ = false;  // that it is closed
};

}  // namespace hecto::router
