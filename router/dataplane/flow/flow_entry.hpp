// An entry of the flow table and what becomes of its packets, each a cache line or two.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/net.hpp"
#include "config/file/flows.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/filter/key.hpp"

namespace hecto::router {

using config::FlowVerdict;

// What readers find. All but `used_s` stays from when they can see it till none can.
template <typename Key>
struct alignas(64) FlowEntry {
  Key key;  // masked
  uint32_t priority;
  uint32_t action;               // its number
  std::atomic<uint32_t> used_s;  // by the table's clock: its last packet
  // The writer's.
  uint32_t idle_s, hard_s, added_s;  // 0: never
  uint16_t mask;                     // its number
  bool live;
};
static_assert(sizeof(FlowEntry<FilterKey4>) == 64 && sizeof(FlowEntry<FilterKey6>) == 128);

// A number that stands for an interface's name, as long as the process runs; 0: none.
using FlowPlace = uint16_t;
inline constexpr unsigned kMostFlowPlaces = 1024;

struct alignas(64) FlowAction {
  enum Does : uint16_t {
    kMac = 1,
    kTtl = 2,
    kMark = 4,
    kDscp = 8,
    kFrom = 16,
    kTo = 32,
    kSport = 64,
    kDport = 128,
    kHeader = kDscp | kFrom | kTo | kSport | kDport,
  };
  FlowVerdict verdict = FlowVerdict::kAccept;
  uint8_t dscp = 0;
  uint16_t does = 0;
  FlowPlace output = 0;
  uint8_t sport[2] = {}, dport[2] = {};  // network order, as all below
  uint8_t mac[6] = {};
  uint32_t mark = 0;
  uint8_t from[16] = {}, to[16] = {};
  uint8_t pad[12] = {};
};
static_assert(sizeof(FlowAction) == 64);

// Of an entry, by thread: relaxed loads and stores, no lock prefix.
struct FlowCell {
  Counter packets, bytes;  // of IP packets
};
struct FlowCount {
  uint64_t packets = 0, bytes = 0;
};

}  // namespace hecto::router
