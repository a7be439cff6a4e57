#include "router/dataplane/stages/fragment.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kMoreFragments = 0x2000, kFlags = 0xe000, kOffset = 0x1fff;

// Of the fragment that holds `bytes` from `offset` on of what followed the header.
void finish_header(uint8_t* header, uint32_t flags_and_offset, uint32_t offset, uint32_t bytes,
                   bool last) noexcept {
  const uint32_t flags = flags_and_offset & kFlags;
  store16_be(header + 2, kIpv4Bytes + bytes);
  store16_be(header + 6,
             (last ? flags : flags | kMoreFragments) | ((flags_and_offset & kOffset) + offset / 8));
  std::memset(header + 10, 0, 2);
  const uint16_t sum = rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(header));
  std::memcpy(header + 10, &sum, sizeof sum);
}

}  // namespace

unsigned fragment_ipv4(rte_mbuf* packet, unsigned l2_length, uint32_t mtu,
                       std::span<rte_mbuf*> fragments) noexcept {
  uint8_t* ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2_length);
  const uint32_t data = packet->data_len - l2_length - kIpv4Bytes;
  const uint32_t step = (mtu - kIpv4Bytes) / 8 * 8;
  const unsigned count = (data + step - 1) / step - 1;
  if (ip[0] != 0x45 || count > fragments.size() ||
      rte_pktmbuf_alloc_bulk(packet->pool, fragments.data(), count) != 0)
    return 0;
  const uint32_t flags_and_offset = load16_be(ip + 6);
  for (unsigned n = 0; n < count; ++n) {
    auto* frame = reinterpret_cast<uint8_t*>(
        rte_pktmbuf_append(fragments[n], static_cast<uint16_t>(l2_length + kIpv4Bytes + step)));
    if (frame == nullptr) {  // never, where the whole has fitted a buffer of the same pool
      rte_pktmbuf_free_bulk(fragments.data(), count);
      return 0;
    }
    std::memcpy(frame + l2_length, ip, kIpv4Bytes);
    std::memcpy(frame + l2_length + kIpv4Bytes, ip + kIpv4Bytes + n * step, step);
    finish_header(frame + l2_length, flags_and_offset, n * step, step, false);
    fragments[n]->port = packet->port;
  }
  const uint32_t rest = data - count * step;
  std::memmove(ip + kIpv4Bytes, ip + kIpv4Bytes + count * step, rest);
  finish_header(ip, flags_and_offset, count * step, rest, true);
  packet->data_len = static_cast<uint16_t>(l2_length + kIpv4Bytes + rest);
  packet->pkt_len = packet->data_len;
  return count;
}

}  // namespace hecto::router
