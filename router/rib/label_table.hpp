// By label of MPLS the next-hop group that its packets go by, as one socket's workers see it: 2^20
// slots, which are not there before the first label is. Group kNoRoute: no route.
//
// One writer (LabelTable), any number of readers; a change is one store.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/memory_block.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

struct LabelView {
  std::atomic<const uint16_t*> slots = nullptr;

  lookup::GroupId group(const uint16_t* in, uint32_t label) const noexcept {
    return lookup::GroupId(__atomic_load_n(&in[label], __ATOMIC_ACQUIRE));
  }
};

class LabelTable {
 public:
  LabelTable(const std::vector<int>& sockets, lookup::Memory& memory);
  LabelTable(const LabelTable&) = delete;
  LabelTable& operator=(const LabelTable&) = delete;

  // False: there is no memory.
  bool set(uint32_t label, lookup::GroupId group);
  const LabelView* view(int socket) const { return &replicas_.at(socket).view; }

 private:
  struct Replica {
    LabelView view;
    lookup::MemoryBlock block;
  };
  bool make();

  lookup::Memory& memory_;
  std::map<int, Replica> replicas_;  // by socket
  bool made_ = false;
};

}  // namespace hecto::router
