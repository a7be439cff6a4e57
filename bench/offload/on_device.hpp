// A workload's memory and table on a device that has been started, for as long as this lives.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bench/offload/workload.hpp"
#include "gpu_offload/device.hpp"

namespace hecto::bench {

class OnDevice {
 public:
  OnDevice(gpu_offload::Device& device, const Workload& work) : device_(device) {
    using gpu_offload::Status;
    for (const Workload::Buffer& buffer : work.buffers()) {
      if (const Status status = device.pin(buffer.start, buffer.bytes); status != Status::kOk) {
        error_ = work.name() + ": memory is not pinned: " + to_string(status);
        return;
      }
      pinned_.push_back(buffer.start);
    }
    arena_ = device.create_arena(work.table().words);
    Status status = arena_ == nullptr ? Status::kNoMemory : Status::kOk;
    if (status == Status::kOk) status = device.start_update(arena_, work.table());
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    if (status == Status::kOk) {
      do status = device.update_status();
      while (status == Status::kBusy && Clock::now() - start < std::chrono::seconds(5));
    }
    if (status != Status::kOk)
      error_ = work.name() + ": the table was not copied: " + to_string(status);
  }
  ~OnDevice() {
    if (arena_ != nullptr) device_.release_arena(arena_);
    for (void* start : pinned_) device_.unpin(start);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  const std::string& error() const { return error_; }  // empty: all is there
  const uint32_t* arena() const { return arena_; }
  void forget() { arena_ = nullptr; }  // after a restart: it is gone

 private:
  gpu_offload::Device& device_;
  std::vector<void*> pinned_;
  uint32_t* arena_ = nullptr;
  std::string error_;
};

}  // namespace hecto::bench
