#include "gpu_offload/device_control.hpp"

#include <algorithm>

namespace hecto::gpu_offload {
namespace {

Cause cause_of(Status status) {
  return status == Status::kNoMemory ? Cause::kNoMemory : Cause::kBroken;
}

}  // namespace

TableMirror& DeviceControl::add_table(TableMirror::TakeImage image) {
  return tables_.emplace_back(*device_, std::move(image));
}

void DeviceControl::tick(uint64_t now_ns) {
  if (phase_ == Phase::kReady && !health_.ready()) stop(health_.cause(), now_ns);
  if (phase_ == Phase::kStopped) {
    if (back_off_.due(now_ns) && !in_use()) start(now_ns);
    return;
  }
  for (TableMirror& table : tables_) {
    const Status status = table.advance();
    if (status == Status::kOk) continue;
    stop(cause_of(status), now_ns);
    return;
  }
  if (phase_ != Phase::kLoading) return;
  if (std::all_of(tables_.begin(), tables_.end(),
                  [](const auto& table) { return table.loaded(); })) {
    phase_ = Phase::kReady;
    health_.set_ready();
  } else if (now_ns - started_ns_ > kLoadNs) {
    stop(Cause::kLate, now_ns);
  }
}

bool DeviceControl::in_use() const {
  return std::any_of(users_.begin(), users_.end(), [](const auto* holds) { return holds->load(); });
}

void DeviceControl::start(uint64_t now_ns) {
  started_ns_ = now_ns;
  back_off_.started(now_ns);
  const Status status = device_->restart();
  if (status != Status::kOk) {
    stop(cause_of(status), now_ns);
    return;
  }
  for (TableMirror& table : tables_) table.start();
  phase_ = Phase::kLoading;
}

void DeviceControl::stop(Cause cause, uint64_t now_ns) {
  health_.retire(cause);
  for (TableMirror& table : tables_) table.stop();
  phase_ = Phase::kStopped;
  last_cause_ = cause;
  ++stops_;
  back_off_.failed(now_ns);
}

const char* to_string(DeviceControl::Phase phase) noexcept {
  switch (phase) {
    case DeviceControl::Phase::kReady:
      return "ready";
    case DeviceControl::Phase::kLoading:
      return "loading";
    case DeviceControl::Phase::kStopped:
      break;
  }
  return "stopped";
}

}  // namespace hecto::gpu_offload
