// A device in a process of its own (hecto-gpu): a driver that hangs, a kernel that never ends, an
// illegal access cost that process, which is killed and started again, and never the router.
//
//   worker ─ submit, poll ─► rings in shared memory ◄─ its one thread ─► Shader ─► device
//   control ─ start, updates ─► socket ─► keeper (starts, kills) and the device's process
//
// Nothing waits here but open(): what takes long is asked after by state(). Memory for jobs comes from
// memory(), which both processes see. Arenas are numbers (helper/arena_handle.hpp). After the helper's
// keeper has gone the device stays broken: hectod may start no processes once it is confined.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/helper/protocol.hpp"
#include "gpu_offload/helper/shared_memory.hpp"

namespace hecto::gpu_offload {

struct HelperOptions {
  std::string program;
  std::vector<unsigned> cpus = {};     // where it may run; empty: as this process
  uint64_t start_ns = 30'000'000'000;  // a start takes no longer,
  uint64_t update_ns = 5'000'000'000;  // nor an update
};

// Control's thread, but for its queues.
class HelperDevice final : public Device {
 public:
  // Starts the program and waits until it has the device. An error is one line for the operator.
  static tl::expected<std::unique_ptr<Device>, std::string> open(const std::string& name,
                                                                 const HelperOptions& options);
  ~HelperDevice() override;

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  int socket() const override { return socket_; }
  Status restart() noexcept override;
  Status state() noexcept override;
  std::string trouble() const override { return trouble_; }
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override;
  lookup::Memory* memory() noexcept override { return &memory_; }
  Status pin(void* start, size_t bytes) noexcept override;
  void unpin(void* /*start*/) noexcept override {}
  uint32_t* create_arena(size_t words) noexcept override;
  void release_arena(uint32_t* arena) noexcept override;
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override;
  Status update_status() noexcept override;

 private:
  enum class Life : uint8_t {
    kDown,      // there is no process with the device
    kEnding,    // it was killed; another is started when it is gone
    kStarting,  // it opens the device
    kUp,
    kLost,  // nor is there a keeper, for good
  };
  class Queue;

  HelperDevice(std::string name, const HelperOptions& options)
      : name_(std::move(name)), options_(options) {}
  tl::expected<void, std::string> spawn();
  void begin() noexcept;
  void end(std::string why) noexcept;
  void reap() noexcept;
  void tell(const Message& message, int with = -1) noexcept;
  void tell_block(void* start, const SharedMemory::Block& block) noexcept;
  void tell_queue(const Queue& queue) noexcept;
  void flush() noexcept;
  void listen() noexcept;
  void heard(const Message& message) noexcept;
  void wipe_update() noexcept;
  bool reserve_update(size_t bytes) noexcept;

  std::string name_, description_, trouble_;
  HelperOptions options_;
  int socket_ = -1;
  SharedMemory memory_;
  pid_t keeper_pid_ = -1;
  Channel keeper_, device_;
  Life life_ = Life::kDown;
  bool alive_ = false;  // there is a process, and the keeper has not told its end
  bool fresh_ = false;  // it was started by open(), and nothing was asked of it yet
  Status failure_ = Status::kBroken;
  uint64_t since_ns_ = 0;  // of kStarting and kEnding
  struct Outgoing {
    Message message;
    int with;
  };
  std::deque<Outgoing> outgoing_;  // to the device, what its socket had no room for yet
  std::vector<Queue*> queues_;
  uint32_t next_arena_ = 1;
  void* update_ = nullptr;  // a block of memory_
  size_t update_room_ = 0, update_bytes_ = 0;
  Status update_status_ = Status::kOk;
  uint64_t update_since_ns_ = 0;
};

}  // namespace hecto::gpu_offload
