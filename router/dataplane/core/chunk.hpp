// The chunk: what flows. Up to 256 packets of one receive queue, and the structure of arrays that
// the stages fill in. Each worker has one, reuses it, and owns every mbuf that is in it.
//
//   receive   packets[0..count)
//   classify  moves each packet into lane v4 or v6 (with its destination), or refuses it
//   lookup    lane.groups
//   rewrite   moves each packet to an egress port's buffer, or refuses it
//
// A refused packet goes to `refused` with its reason; what is left there is punted or freed.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/reason.hpp"
#include "lookup/fib.hpp"
#include "router/rib/route.hpp"

struct rte_mbuf;

namespace hecto::router {

inline constexpr unsigned kChunkSize = 256;

// Where a packet came in: stored as one word. No byte-sized member: a store of one would make the
// compiler forget everything that it holds in registers.
class Ingress {
 public:
  Ingress() = default;
  Ingress(InterfaceId interface, unsigned l2_length) noexcept
      : word_(interface | l2_length << 16) {}
  InterfaceId interface() const noexcept { return InterfaceId(word_); }
  unsigned l2_length() const noexcept { return word_ >> 16; }  // 14, 18 or 22

 private:
  uint32_t word_;
};

template <typename Address>
struct alignas(64) Lane {
  unsigned count = 0;
  lookup::TableId table = 0;  // in which all were looked up; 0: main
  rte_mbuf* packets[kChunkSize];
  alignas(64) Address destinations[kChunkSize];
  alignas(64) lookup::GroupId groups[kChunkSize];
  alignas(64) Ingress ingress[kChunkSize];

  // Whether all came in by one interface, with as long a header. Of a lane that is not empty.
  bool of_one_ingress() const noexcept {
    return std::memcmp(ingress, ingress + 1, (count - 1) * sizeof *ingress) == 0;
  }
};
using Lane4 = Lane<uint32_t>;  // host order
using Lane6 = Lane<lookup::Ipv6Address>;

struct Refused {
  rte_mbuf* packet;
  Reason reason;
  InterfaceId interface;
};

struct alignas(64) Chunk {
  unsigned count = 0;
  uint64_t bytes = 0;  // of all packets, as received
  rte_mbuf* packets[kChunkSize];
  Lane4 v4;
  Lane6 v6;
  unsigned refused_count = 0;
  Refused refused[kChunkSize];

  void refuse(rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept {
    refused[refused_count++] = {packet, reason, interface};
  }
};

}  // namespace hecto::router
