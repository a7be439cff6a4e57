// What the service manager hears of a running router, and when.
//
//   READY=1     once, when packets flow
//   STATUS=     with it, when that ends or begins again, and each kStatus
//   WATCHDOG=1  twice in the time that the manager gives, as long as all is alive; who stops calling
//               tick() stops it, too
//
// One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace hecto::router {

class ServiceReport {
 public:
  using Clock = std::chrono::steady_clock;
  using Tell = std::function<void(const std::string& lines)>;
  static constexpr std::chrono::seconds kStatus{10};

  struct State {
    bool forwards = false;  // from the first tick on which it does, the service is ready
    bool alive = true;
  };

  // `watchdog`: as ServiceManager::watchdog(). `status`: a line, asked for when it is told.
  ServiceReport(Tell tell, std::chrono::microseconds watchdog, std::function<std::string()> status);

  bool watched() const { return watchdog_.count() > 0; }
  void tick(const State& state, Clock::time_point now);

 private:
  const Tell tell_;
  const std::chrono::microseconds watchdog_;
  const std::function<std::string()> status_;
  bool ready_ = false, forwards_ = false;
  Clock::time_point next_status_{}, next_alive_{};
};

}  // namespace hecto::router
