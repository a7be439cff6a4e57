// What control does with one device: starts it, keeps its tables in step, and when it fails, waits
// until nobody uses it and starts it again.
//
//   start ─► starting ─► load tables ─► ready ─► retired ─► users let go, back-off over ─► start …
//
// Control's thread only; tick() does not wait for a device that starts in a process of its own
// (devices/helper.hpp), as the router's do.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/health.hpp"
#include "gpu_offload/table_mirror.hpp"

namespace hecto::gpu_offload {

class DeviceControl {
 public:
  enum class Phase : uint8_t { kStopped, kStarting, kLoading, kReady };

  explicit DeviceControl(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  Device& device() { return *device_; }
  Health& health() { return health_; }
  Phase phase() const { return phase_; }
  Cause last_cause() const { return last_cause_; }               // why it was stopped last,
  const std::string& last_words() const { return last_words_; }  // and in the device's own words
  uint64_t stops() const { return stops_; }                      // retired, or not started
  uint64_t next_start_ns() const { return back_off_.due_ns(); }

  // A table that is to lie on the device; before the first tick(). Its updates come by push().
  TableMirror& add_table(TableMirror::TakeImage image);
  // A Stage's or Shader's holds(). The user is removed before it ends.
  void add_user(const std::atomic<bool>& holds) { users_.push_back(&holds); }
  void remove_user(const std::atomic<bool>& holds) { std::erase(users_, &holds); }

  // Every few milliseconds, and after a publish().
  void tick(uint64_t now_ns);

 private:
  static constexpr uint64_t kLoadNs = 30'000'000'000;  // for a start with all tables

  bool in_use() const;
  void start(uint64_t now_ns);
  void started();
  void advance_tables(uint64_t now_ns);
  void stop(Cause cause, uint64_t now_ns);

  std::unique_ptr<Device> device_;
  Health health_;
  BackOff back_off_;
  Phase phase_ = Phase::kStopped;
  Cause last_cause_ = Cause::kNotStarted;
  std::string last_words_;
  uint64_t stops_ = 0;
  uint64_t started_ns_ = 0;
  std::deque<TableMirror> tables_;
  std::vector<const std::atomic<bool>*> users_;
};

const char* to_string(DeviceControl::Phase phase) noexcept;

}  // namespace hecto::gpu_offload
