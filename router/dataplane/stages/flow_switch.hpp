// flow: packets of interfaces that have the flow table on, by their entry: on, as routed; out by an
// interface, with the Ethernet header that the entry says; or refused. Behind classify, before look-up.
// docs/flows.md.
//
// A packet that leaves here is switched: its TTL stays unless its entry counts it down, and neither
// policies nor uRPF see it.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/flow/flow_tables.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {

class FlowSwitch {
 public:
  FlowSwitch() noexcept;
  FlowSwitch(const FlowSwitch&) = delete;
  FlowSwitch& operator=(const FlowSwitch&) = delete;

  // What stays in its lanes goes on. `thread`: of the tables' threads.
  void run(Chunk& chunk, const Snapshot& snapshot, unsigned thread, Transmitter& transmitter,
           std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept;

 private:
  struct With;
  template <typename Address>
  void run_lane(Lane<Address>& lane, const With& with) noexcept;
  template <typename Address>
  void find(const Lane<Address>& lane, const uint8_t* who, unsigned n, const With& with) noexcept;

  FilterKey4 keys4_[kFlowGroup];
  FilterKey6 keys6_[kFlowGroup];
  uint32_t found_[kFlowGroup];

  FilterKey4* keys(const Lane4&) noexcept { return keys4_; }
  FilterKey6* keys(const Lane6&) noexcept { return keys6_; }
};

}  // namespace hecto::router
