// The helper's process with the device: everything that calls the driver, on one thread.
//
//   router's queues ─ rings ─► Shader ─► TranslatingQueue ─► the device's JobQueue
//   router's control ─ socket ─► blocks, arenas, updates ─► Device
//
// It ends when its socket does, when the device fails, or when it is killed; it never starts the
// device a second time. One thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/health.hpp"
#include "gpu_offload/helper/protocol.hpp"
#include "gpu_offload/helper/shared_memory.hpp"
#include "gpu_offload/shader.hpp"

namespace hecto::gpu_offload {

// The router's addresses and arenas as this process has them.
class Translation {
 public:
  struct Mapped {
    uint64_t there = 0;  // the router's address
    SharedView view;
  };
  struct Arena {
    uint32_t* here = nullptr;
    uint64_t words = 0;
  };
  // False where the job names what is not there: nothing of it may be used then.
  bool translate(Job& job) const noexcept;

  void add(uint32_t id, uint64_t there, SharedView view);
  void remove(uint32_t id);
  const SharedView* block(uint32_t id) const;  // nullptr: there is none
  std::map<uint32_t, Arena> arenas;

 private:
  void* here(const void* there, uint64_t bytes) const noexcept;

  std::map<uint32_t, Mapped> blocks_;
  std::map<uint64_t, const Mapped*> by_address_;  // the router's
};

class HelperServer {
 public:
  // The device has been started.
  HelperServer(Channel channel, std::unique_ptr<Device> device);
  // The process's exit code.
  int run();

 private:
  bool obey();  // false: the router has gone
  void obey(const Message& message, FileDescriptor with);
  void add_queue(const Message& message);
  void map(const Message& message, const FileDescriptor& memory);
  void begin_update(const Message& message);
  void answer_update(Status status);
  void give_up(const char* why);

  Channel channel_;
  std::unique_ptr<Device> device_;
  Translation translation_;
  Health health_;
  std::unique_ptr<Shader> shader_;
  bool updating_ = false;
  bool given_up_ = false;
};

}  // namespace hecto::gpu_offload
