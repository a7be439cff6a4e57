// The keys of SAs as a table on devices: control's half. An array of crypto::EspKey that grows, and
// the updates that bring it to each device's mirror.
//
//   add(key) ─► index ─► publish(): one update of what changed ─► mirrors
//   remove(index): zeros ─► publish() ─► no copy that jobs read or hold has the key ─► add() may
//                                        give the index again
//
// A job that names an index whose key its copy does not have yet, or no more, is answered
// kUnservable. Table and updates lie in secret memory (secret_memory.hpp). Control's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/table_mirror.hpp"
#include "lookup/memory_block.hpp"

namespace hecto::gpu_offload {

class KeyTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // At most `most` keys at once, those among them that wait to be forgotten.
  explicit KeyTable(uint32_t most) : most_(most) {}
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  // The key's index from now on; kNone where there is no room.
  uint32_t add(const crypto::EspKey& key);
  // Once no worker can make a job of it any more.
  void remove(uint32_t index);
  // What changed since the last time goes to all mirrors.
  void publish();

  // They must live as long as updates come.
  void add(TableMirror& mirror) { mirrors_.push_back(&mirror); }
  void remove(TableMirror& mirror) { std::erase(mirrors_, &mirror); }
  TableMirror::Update image() const;  // as it is now
  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kFirstKeys = 64;
  static constexpr uint32_t kWords = sizeof(crypto::EspKey) / 4;

  crypto::EspKey* keys() const { return arena_.as<crypto::EspKey>(); }
  bool grow();
  void note(uint32_t index);
  void reclaim();
  bool passed(uint64_t generation) const;

  uint32_t most_;
  uint32_t capacity_ = 0;  // keys that the arena holds
  uint32_t next_ = 0;      // never given out so far
  uint32_t count_ = 0;
  lookup::MemoryBlock arena_;
  uint64_t generation_ = 0;  // published last
  bool grown_ = false;       // since then
  std::vector<uint32_t> changed_;
  std::vector<bool> is_changed_;  // by index
  struct Leaving {
    uint32_t index;
    uint64_t generation;  // the first without it
  };
  std::deque<Leaving> leaving_;
  std::vector<uint32_t> free_;
  std::vector<TableMirror*> mirrors_;
};

}  // namespace hecto::gpu_offload
