// The SAD and the SPD as workers read them. Written by SaTable and
// PolicyTable (router/ipsec/) alone.
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

#include <cstdint>

#include "lookup/prefix.hpp"
#include "router/ipsec/esp/flow_key.hpp"
#include "router/ipsec/esp/policy.hpp"

namespace hecto::router::esp {

// What an ESP packet says of its SA. `destination`: 4 or 16 bytes in network order.
struct SadKey {
  Spi spi;  // host order
  lookup::Family family;
  const uint8_t* destination;
};

class Peers;
class Sad;
class Spd;
class UnseenSpd;

// What a worker holds: valid while the router runs.
struct IpsecView {
  const Sad* sad = nullptr;
  const Spd* out = nullptr;
  const Spd* in = nullptr;       // to the router itself
  const Spd* forward = nullptr;  // decapsulated or not, to be forwarded
  // Of each, the policies that a packet may meet whose ports or protocol nobody sees.
  const UnseenSpd* unseen_out = nullptr;
  const UnseenSpd* unseen_in = nullptr;
  const UnseenSpd* unseen_forward = nullptr;
  const Peers* peers = nullptr;  // of the SAs in `sad`
};

}  // namespace hecto::router::esp
