// Left and right with a wire between them, and what left's host sends.
#pragma once

#include <gtest/gtest.h>

#include "tests/beds/gateway.hpp"

namespace hecto::router::test {

inline FrameOptions from_host(const char* source, const char* destination, uint16_t payload = 100) {
  FrameOptions options;
  options.to = own_mac(0);
  options.source = source;
  options.destination = destination;
  options.payload_bytes = payload;
  return options;
}
inline FrameOptions from_left(uint16_t payload = 100) {
  return from_host("10.1.0.1", "10.2.0.1", payload);
}
inline FrameOptions from_left6(uint16_t payload = 100) {
  return from_host("fd00:1::1", "fd00:2::1", payload);
}

// As if the wire between them had carried it.
inline rte_mbuf* carried(rte_mbuf* packet) {
  uint8_t* frame = rte_pktmbuf_mtod(packet, uint8_t*);
  const MacAddress from = {0x02, 0, 0, 0, 9, 9}, to = own_mac(1);
  std::memcpy(frame, to.data(), 6);
  std::memcpy(frame + 6, from.data(), 6);
  packet->ol_flags = 0;
  return packet;
}

class TwoGateways : public testing::Test {
 protected:
  ~TwoGateways() override { EXPECT_EQ(mbufs_in_use(), 0u); }
  Gateway left_{1}, right_{2};

  // From left's host to right's, and what arrives there.
  std::vector<rte_mbuf*> across(const std::vector<rte_mbuf*>& packets) {
    left_.run(packets, 0);
    std::vector<rte_mbuf*> outer = left_.sent(1);
    for (rte_mbuf*& packet : outer) packet = carried(packet);
    right_.run(outer, 1);
    return right_.sent(0);
  }
};

}  // namespace hecto::router::test
