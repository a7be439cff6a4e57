#include "router/dataplane/stages/spreader.hpp"

#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/stages/spread_key.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {
namespace spread_detail {

// RFC 2784, RFC 2890; other versions, source routes and numbers go by the outer header.
uint32_t gre_key(const uint8_t* at, uint32_t bytes, uint32_t key) noexcept {
  if (bytes < 4) return key;
  const unsigned flags = load16_be(at);
  if ((flags & 0x5007) != 0) return key;
  const uint32_t header = 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1));  // checksum, key
  if (bytes < header) return key;
  const uint16_t ether_type = load16_native(at + 2);
  if (ether_type == kEtherIpv4) return key4(at + header, bytes - header, {nullptr});
  if (ether_type == kEtherIpv6) return key6(at + header, bytes - header, {nullptr});
  return key;
}

// A tunnel within one goes by its own addresses.
uint32_t tunnel_key(const uint8_t* at, uint32_t bytes, uint8_t protocol, uint32_t key,
                    Scope scope) noexcept {
  if (protocol == kEsp) return bytes < 4 ? key : rte_hash_crc_4byte(load32_native(at), key);
  if (scope.packet == nullptr) return key;
  if (protocol == kGre) return gre_key(at, bytes, key);
  return protocol == kIpInIp ? key4(at, bytes, {nullptr}) : key6(at, bytes, {nullptr});
}

}  // namespace spread_detail

void Spreader::run(const SpreadTable& table, Chunk& chunk) noexcept {
  constexpr unsigned kAhead = 6;  // packets whose first line is being fetched
  rte_mbuf** lanes[kSpreadLanes + 1] = {chunk.packets};
  unsigned counts[kSpreadLanes + 1] = {};
  for (unsigned lane = 0; lane < table.lane_count; ++lane) lanes[lane + 1] = packets_[lane];
  for (unsigned i = 0; i < chunk.count; ++i) {
    if (i + kAhead < chunk.count)
      rte_prefetch0(rte_pktmbuf_mtod(chunk.packets[i + kAhead], const void*));
    rte_mbuf* const packet = chunk.packets[i];
    const unsigned lane = table.lane_of[spread_bucket(spread_key(packet))];
    lanes[lane][counts[lane]++] = packet;
  }
  chunk.count = counts[0];
  chunk.refused_count = 0;
  for (unsigned i = 0; i < table.lane_count; ++i) {
    const unsigned count = counts[i + 1];
    if (count == 0) continue;
    const SpreadTable::Lane& lane = table.lanes[i];
    const unsigned taken = rte_ring_sp_enqueue_burst(
        lane.ring, reinterpret_cast<void* const*>(packets_[i]), count, nullptr);
    for (unsigned n = taken; n < count; ++n)
      chunk.refuse(packets_[i][n], Reason::kSpreadFull, kNoInterface);
    if (lane.owner != nullptr) lane.owner->ring();
  }
}

}  // namespace hecto::router
