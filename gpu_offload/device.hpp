// What every device can do, and no more. A device is opened, closed and given tables by control;
// workers (and shaders) see its job queues only.
//
// Nothing here blocks for the device's work: what takes long is started and asked after. Errors are
// a Status; whoever sees kNoMemory or kBroken retires the device (health.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gpu_offload/job.hpp"
#include "lookup/journal.hpp"
#include "lookup/memory.hpp"

namespace hecto::gpu_offload {

enum class Status : uint8_t {
  kOk,
  kBusy,      // as much in flight as there may be; nothing was taken, try later
  kNoMemory,  // the device has none left
  kBroken,    // it answered with an error, or fell off its bus
};
const char* to_string(Status status) noexcept;

// One thread's way to a device. Jobs of one queue may complete in any order.
class JobQueue {
 public:
  virtual ~JobQueue() = default;
  // The jobs run together, as one launch: all of one kind and one arena, kMostJobs at most. Each
  // has a completion of its own. On anything but kOk none was taken.
  virtual Status submit(std::span<const Job> jobs) noexcept = 0;
  // The number of completions stored.
  virtual unsigned poll(std::span<Completion> completions) noexcept = 0;
};

// An update as a device takes it (lookup/journal.hpp): the arena's words from the first on, then single
// ones. What it views stays as it is until update_status() is no longer kBusy.
struct UpdateView {
  UpdateView(std::span<const uint32_t> whole, std::span<const lookup::WordChange> single)
      : image(whole), changes(single) {}
  UpdateView(const lookup::TableUpdate& update)  // NOLINT: as good as one
      : image(update.image), changes(update.changes) {}

  std::span<const uint32_t> image;
  std::span<const lookup::WordChange> changes;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;         // as the operator writes it: cuda:0
  virtual const std::string& description() const = 0;  // model, link, driver
  virtual int socket() const = 0;                      // NUMA socket it hangs on, -1: any

  // Control, while no queue is in use: starts anew, whatever state the device is in. What was in
  // flight is over and touches no memory any more, copies of tables are gone; queues and pinned
  // memory hold. Also the first start. kBusy: it has begun, and state() tells when it is done.
  virtual Status restart() noexcept = 0;
  // kBusy while a start goes on; kOk when it is over and nothing is known against the device;
  // else the device has failed, whether or not it has work. Control asks at each turn.
  virtual Status state() noexcept { return Status::kOk; }
  // Why it was last something else, in words for the operator; empty: no more is known.
  virtual std::string trouble() const { return {}; }
  // At most `batches` in flight. Lives no longer than the device.
  virtual std::unique_ptr<JobQueue> make_queue(unsigned batches) = 0;

  // Where memory for jobs has to come from; nullptr: from anywhere.
  virtual lookup::Memory* memory() noexcept { return nullptr; }
  // Makes memory reachable for the device. kBroken where it cannot.
  virtual Status pin(void* start, size_t bytes) noexcept = 0;
  virtual void unpin(void* start) noexcept = 0;

  // A copy of a table in the device's memory, nullptr without room; its bytes are not set. Jobs
  // that read it must be over before it is released or updated.
  virtual uint32_t* create_arena(size_t words) noexcept = 0;
  virtual void release_arena(uint32_t* arena) noexcept = 0;
  // Begins to bring the copy to the update's generation. One at a time.
  virtual Status start_update(uint32_t* arena, const UpdateView& update) noexcept = 0;
  virtual Status update_status() noexcept = 0;
};

}  // namespace hecto::gpu_offload
