// The source addresses of a lane's packets, which classify has checked to be there.
#pragma once

#include <cstring>

#include "base/bytes.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

inline void read_sources(const Lane4& lane, uint32_t* out) noexcept {
  for (unsigned i = 0; i < lane.count; ++i)
    out[i] = load32_be(rte_pktmbuf_mtod(lane.packets[i], const uint8_t*) +
                       lane.ingress[i].l2_length() + 12);
}
inline void read_sources(const Lane6& lane, lookup::Ipv6Address* out) noexcept {
  for (unsigned i = 0; i < lane.count; ++i)
    std::memcpy(&out[i],
                rte_pktmbuf_mtod(lane.packets[i], const uint8_t*) + lane.ingress[i].l2_length() + 8,
                16);
}

}  // namespace hecto::router
