// The SAD and the SPD as workers read them. Written by control/ipsec alone.
//
//   inbound    SPI (and destination) -> Sa: one open-addressed table, constant time.
//   policies   a packet's addresses, protocol and ports -> Policy. Tuple-space search (Srinivasan,
//              Suri, Varghese, SIGCOMM 1999): one hash table for each shape of selector (prefix
//              lengths, protocol and ports given or not), the shapes in order of their best
//              priority, so that the time grows with the number of shapes, not of policies.
//
// Both are changed slot by slot, by atomic stores (pointer_slots.hpp); what was replaced is freed
// when all readers have passed (QSBR). sad.hpp and spd.hpp have the searches.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lookup/prefix.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router::esp {

class Sa;

// What workers need of one, of IPv4 in one cache line: found, counted and obeyed by a single read.
struct alignas(64) Policy {
  std::atomic<Sa*> sa{nullptr};  // outbound: what protects it now; null: none yet (no_sa)
  mutable std::atomic<uint64_t> packets{0};  // written by workers, relaxed
  uint64_t serial = 0;                       // of two with one priority the older is better
  uint32_t priority = 0;
  uint32_t reqid = 0;  // inbound: the SA's must be this (0: any)
  PolicyAction action = PolicyAction::kBypass;
  IpsecMode mode = IpsecMode::kTunnel;
  bool optional = false;          // inbound: may also come unprotected
  std::array<uint64_t, 6> key{};  // the Spd's: what its packets are known by; IPv4: three words

  uint32_t if_id = 0;  // a packet's must be the same, as in Linux
  IpsecSelector selector;
  Policy* shadowed = nullptr;  // the Spd's: the next best of the same selector
};
static_assert(offsetof(Policy, key) + 3 * sizeof(uint64_t) == 64);

// A packet's five-tuple. Ports are 0 where the packet has none (fragments, other protocols); ICMP's
// type and code stand in the ports as Linux puts them. Host order; IPv4 addresses in the first
// word.
struct FlowKey {
  lookup::Family family;
  uint8_t protocol;
  uint16_t source_port, destination_port;
  lookup::Ipv6Address source, destination;  // IPv4: the first four bytes, network order
};
// Never reads beyond `bytes`; `ip` is a header that classify has cleared. Fragments have no ports,
// the first one neither, so that all of a packet meet one policy. Behind more extension headers
// than are looked at (8), and behind AH, the protocol is that of the last header seen.
FlowKey flow_key(lookup::Family family, const uint8_t* ip, uint32_t bytes) noexcept;

// What an ESP packet says of its SA. `destination`: 4 or 16 bytes in network order.
struct SadKey {
  uint32_t spi;  // host order
  lookup::Family family;
  const uint8_t* destination;
};

class Sad;
class Spd;

// What a worker holds: valid while the router runs.
struct IpsecView {
  const Sad* sad = nullptr;
  const Spd* out = nullptr;
  const Spd* in = nullptr;       // to the router itself
  const Spd* forward = nullptr;  // decapsulated or not, to be forwarded
};

}  // namespace hecto::router::esp
