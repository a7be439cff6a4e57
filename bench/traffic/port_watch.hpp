// Ports under way: whether one loses its link, or goes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "bench/traffic/port_set.hpp"
#include "bench/traffic/station.hpp"

namespace hecto::bench {

// Looks after the ports while a trial runs, from a thread of its own: a look may take a system
// call.
class PortWatch {
 public:
  PortWatch(const PortSet& ports, TrialClock& trial)
      : thread_([this, &ports, &trial] {
          std::unique_lock lock(mutex_);
          while (!wake_.wait_for(lock, kInterval, [this] { return done_; })) {
            complaint_ = ports.complaint();
            if (complaint_.empty()) continue;
            trial.failed.store(true, std::memory_order_relaxed);
            break;
          }
          if (!complaint_.empty()) look_again(ports);
        }) {}
  // What has happened, or nothing.
  std::string end() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
    return complaint_;
  }

 private:
  static constexpr auto kInterval = std::chrono::milliseconds(50);
  static constexpr int kLooks = 10;

  // A device that goes loses its link first, and its name a while after that.
  void look_again(const PortSet& ports) {
    for (int i = 0; i < kLooks && ports.present(); ++i) std::this_thread::sleep_for(kInterval);
    if (!ports.present()) complaint_ = ports.complaint();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::string complaint_;
  std::thread thread_;
};

}  // namespace hecto::bench
