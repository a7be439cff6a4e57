// Keeps a table on a device in step with its arena: every update goes to both copies (DeviceTable),
// first to the one that nobody reads, which then becomes the active one.
//
//   updates   17 18 19 20│21          copy A (active)  has 17
//                 ▲      ▲            copy B (idle)    has 20 ─► active, then A takes 18, 19, 20
//
// Control's thread only; nothing waits. Updates that a copy has still to take are kept, and go there
// as one: each word once, with its last value. When they come faster than the device takes them, one
// image replaces them all.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "gpu_offload/device.hpp"
#include "gpu_offload/device_table.hpp"
#include "lookup/journal.hpp"

namespace hecto::gpu_offload {

class TableMirror {
 public:
  using Update = std::shared_ptr<const lookup::TableUpdate>;
  using TakeImage = std::function<Update()>;

  // `image` gives the arena's bytes as they are now.
  TableMirror(Device& device, TakeImage image) : device_(device), image_(std::move(image)) {}
  ~TableMirror() { stop(); }
  TableMirror(const TableMirror&) = delete;
  TableMirror& operator=(const TableMirror&) = delete;

  DeviceTable& table() { return table_; }

  // The device was restarted: its copies are gone, and both begin with an image.
  void start();
  // No job takes the table from now on. The copies stay until start() or until the device ends.
  void stop() noexcept {
    table_.activate(DeviceTable::kNone);
    started_ = false;
  }

  // The next update of the journal. Dropped while stopped.
  void push(Update update);
  // Goes on as far as that is possible now. On anything but kOk the device has failed.
  Status advance();

  bool loaded() const { return table_.active() != DeviceTable::kNone; }
  uint64_t generation() const;  // that jobs read, 0: none
  size_t waiting() const { return updates_.size(); }
  // Whether no job can hold anything from before that generation, now or later.
  bool passed(uint64_t generation) const;

 private:
  static constexpr uint64_t kMostAtOnce =
      64;  // updates to one copy before it becomes the active one

  struct Copy {
    uint32_t* arena = nullptr;
    size_t words = 0;
    uint32_t magic = 0;
    uint64_t next = 0;  // number of the update that it takes next
  };

  uint64_t end() const { return first_ + updates_.size(); }
  void replace_by(Update image);
  Status begin(uint8_t side);
  uint64_t mergeable(uint64_t first) const;
  Update merged(uint64_t first, uint64_t count) const;
  void finish(uint8_t side);
  void forget_taken();

  Device& device_;
  TakeImage image_;
  DeviceTable table_;
  Copy copies_[2];
  bool started_ = false;
  uint64_t started_at_ = 0;     // generation of the image that start() took
  std::deque<Update> updates_;  // numbered from first_
  uint64_t first_ = 0;
  size_t waiting_changes_ = 0;  // in them
  Update running_;              // on the side that is not active: of so many updates,
  uint64_t running_count_ = 0;
  Update running_first_;  // from this one on
};

}  // namespace hecto::gpu_offload
