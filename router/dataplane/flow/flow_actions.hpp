// What entries do, each thing once however many entries do it. One writer; readers by number.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "lookup/memory_block.hpp"
#include "router/dataplane/flow/flow_entry.hpp"

namespace hecto::router {

class FlowActions {
 public:
  FlowActions(uint32_t room, int socket, lookup::Memory& memory, lookup::Reclaimer& readers);

  const FlowAction& operator[](uint32_t number) const noexcept { return actions_[number]; }
  const FlowAction* data() const noexcept { return actions_; }  // null: there was no memory

  // ---- The writer ----
  uint32_t take(const FlowAction& action);  // for one entry more; kNone: no room (now)
  void give_back(uint32_t number);          // by one entry, whose readers may still read it
  void commit();
  void reclaim();
  uint32_t in_use() const { return in_use_; }
  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  struct Batch {
    uint64_t token;
    std::vector<uint32_t> numbers;
  };

  lookup::Reclaimer& readers_;
  lookup::MemoryBlock block_;
  FlowAction* actions_ = nullptr;
  const uint32_t room_;
  uint32_t next_ = 0, in_use_ = 0;
  std::vector<uint32_t> users_;  // by number
  std::vector<uint32_t> free_, pending_;
  std::deque<Batch> retired_;
  std::unordered_map<uint64_t, uint32_t> numbers_;  // by the hash of what it does
};

}  // namespace hecto::router
