#include "router/process/service/report.hpp"

#include <utility>

namespace hecto::router {

ServiceReport::ServiceReport(Tell tell, std::chrono::microseconds watchdog,
                             std::function<std::string()> status)
    : tell_(std::move(tell)), watchdog_(watchdog), status_(std::move(status)) {}

void ServiceReport::tick(const State& state, Clock::time_point now) {
  const bool changed = std::exchange(forwards_, state.forwards) != state.forwards;
  const bool becomes_ready = state.forwards && !std::exchange(ready_, ready_ || state.forwards);
  if (changed || now >= next_status_) {
    tell_((becomes_ready ? "READY=1\nSTATUS=" : "STATUS=") + status_());
    next_status_ = now + kStatus;
  }
  if (watchdog_.count() == 0 || !state.alive || now < next_alive_) return;
  tell_("WATCHDOG=1");
  next_alive_ = now + watchdog_ / 2;
}

}  // namespace hecto::router
