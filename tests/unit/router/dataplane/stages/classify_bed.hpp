// One frame at a time through classify.
#pragma once

#include <gtest/gtest.h>

#include "router/dataplane/stages/classify.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {

// The reason a frame is refused for, kNone when it is cleared; with its mbuf freed.
struct Verdict {
  Reason reason = Reason::kNone;
  InterfaceId interface = kNoInterface;
  uint32_t bytes = 0;
  uint8_t l2_length = 0;
};

template <unsigned Features = kFeatureVlan>
Verdict verdict(Bed& bed, const Frame& frame, const std::vector<size_t>& cuts = {},
                uint64_t flags = 0) {
  static Chunk chunk;
  chunk.count = 1;
  chunk.packets[0] = packet(frame, cuts);
  chunk.packets[0]->ol_flags = flags;
  classify<Features>(chunk, bed.port(), bed.snapshot);
  Verdict v;
  v.bytes = chunk.packets[0]->pkt_len;
  EXPECT_EQ(chunk.v4.count + chunk.v6.count + chunk.refused_count, 1u);
  if (chunk.refused_count == 1) {
    v.reason = chunk.refused[0].reason;
    v.interface = chunk.refused[0].interface;
  } else if (chunk.v4.count == 1) {
    v.interface = chunk.v4.ingress[0].interface();
    v.l2_length = static_cast<uint8_t>(chunk.v4.ingress[0].l2_length());
  } else {
    v.interface = chunk.v6.ingress[0].interface();
    v.l2_length = static_cast<uint8_t>(chunk.v6.ingress[0].l2_length());
  }
  rte_pktmbuf_free(chunk.packets[0]);
  return v;
}

}  // namespace hecto::router::test
