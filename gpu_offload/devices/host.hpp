// The device without a GPU: the device functions on CPU threads, one for each queue. What tests run
// on, and what shows the stage on a machine that has no GPU.
#pragma once

#include <string>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/devices/cpu_arenas.hpp"

namespace hecto::gpu_offload {

class HostDevice final : public Device {
 public:
  // Without threads a job is done within submit().
  explicit HostDevice(bool threads = true, int socket = 0) : threads_(threads), socket_(socket) {}
  ~HostDevice() override;

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  int socket() const override { return socket_; }

  Status restart() noexcept override;
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override;
  Status pin(void* /*start*/, size_t /*bytes*/) noexcept override { return Status::kOk; }
  void unpin(void* /*start*/) noexcept override {}
  uint32_t* create_arena(size_t words) noexcept override;
  void release_arena(uint32_t* arena) noexcept override { arenas_.release(arena); }
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override;
  Status update_status() noexcept override { return Status::kOk; }

 private:
  class Queue;

  bool threads_;
  int socket_;
  std::string name_ = "host";
  std::string description_ = "CPU threads";
  CpuArenas arenas_;
  std::vector<Queue*> queues_;
};

}  // namespace hecto::gpu_offload
