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
  // What the device knows of itself comes before what its users saw of it.
  const Status state = phase_ == Phase::kStopped ? Status::kOk : device_->state();
  if (state != Status::kOk && state != Status::kBusy)
    stop(cause_of(state), now_ns);
  else if (phase_ == Phase::kReady && !health_.ready())
    stop(health_.cause(), now_ns);
  if (phase_ == Phase::kStopped) {
    if (back_off_.due(now_ns) && !in_use()) start(now_ns);
    return;
  }
  if (phase_ != Phase::kReady && now_ns - started_ns_ > kLoadNs) {
    stop(Cause::kLate, now_ns);
  } else if (phase_ != Phase::kStarting) {
    advance_tables(now_ns);
  } else if (state == Status::kOk) {
    started();
    advance_tables(now_ns);
  }
}

void DeviceControl::advance_tables(uint64_t now_ns) {
  for (TableMirror& table : tables_) {
    const Status status = table.advance();
    if (status == Status::kOk) continue;
    stop(cause_of(status), now_ns);
    return;
  }
  if (phase_ != Phase::kLoading) return;
  if (!std::all_of(tables_.begin(), tables_.end(),
                   [](const auto& table) { return table.loaded(); }))
    return;
  phase_ = Phase::kReady;
  health_.set_ready();
}

bool DeviceControl::in_use() const {
  return std::any_of(users_.begin(), users_.end(), [](const auto* holds) { return holds->load(); });
}

void DeviceControl::start(uint64_t now_ns) {
  started_ns_ = now_ns;
  back_off_.started(now_ns);
  const Status status = device_->restart();
  if (status == Status::kOk) {
    started();
  } else if (status == Status::kBusy) {
    phase_ = Phase::kStarting;
  } else {
    stop(cause_of(status), now_ns);
  }
}

void DeviceControl::started() {
  for (TableMirror& table : tables_) table.start();
  phase_ = Phase::kLoading;
}

void DeviceControl::stop(Cause cause, uint64_t now_ns) {
  health_.retire(cause);
  for (TableMirror& table : tables_) table.stop();
  phase_ = Phase::kStopped;
  last_cause_ = cause;
  device_->state();  // so that its words are the last ones
  last_words_ = device_->trouble();
  ++stops_;
  back_off_.failed(now_ns);
}

const char* to_string(DeviceControl::Phase phase) noexcept {
  switch (phase) {
    case DeviceControl::Phase::kReady:
      return "ready";
    case DeviceControl::Phase::kStarting:
      return "starting";
    case DeviceControl::Phase::kLoading:
      return "loading";
    case DeviceControl::Phase::kStopped:
      break;
  }
  return "stopped";
}

}  // namespace hecto::gpu_offload
