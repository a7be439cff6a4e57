#include "router/dataplane/stages/fragment.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kPlainHeader = 0x45;   // version 4, no options
constexpr uint8_t kDontFragment = 0x40;  // in the byte at 6
constexpr uint32_t kMoreFragments = 0x2000, kFlags = 0xe000, kOffset = 0x1fff;
constexpr uint32_t kLongestDatagram = 65535;

// Bytes of data in each fragment but the last.
uint32_t step_of(uint32_t mtu) noexcept {
  return (mtu - kIpv4Bytes) / 8 * 8;
}
uint32_t fragments_of(uint32_t data, uint32_t step) noexcept {
  return (data + step - 1) / step;
}

// What a header's fragments have of it. The checksum's sum is without what differs between them:
// length, flags and offset, TTL (RFC 1624).
struct Whole {
  Whole(const uint8_t* header, uint8_t hops) noexcept
      : flags_and_offset(load16_be(header + 6)),
        ttl_and_protocol(load16_be(header + 8) - hops * 0x100u),
        sum(not16(load16_be(header + 10)) + not16(load16_be(header + 2)) + not16(flags_and_offset) +
            not16(load16_be(header + 8)) + ttl_and_protocol) {}
  static uint32_t not16(uint32_t word) noexcept { return word ^ 0xffff; }
  uint32_t flags_and_offset, ttl_and_protocol, sum;
};

// Of the fragment that holds `bytes` from `offset` on of what followed the header. The last one
// ends as the packet did: if that was a fragment, more may come.
void finish_header(uint8_t* header, const Whole& whole, uint32_t offset, uint32_t bytes,
                   bool last) noexcept {
  const uint32_t flags = (whole.flags_and_offset & kFlags) | (last ? 0 : kMoreFragments);
  const uint32_t field = flags | ((whole.flags_and_offset & kOffset) + offset / 8);
  const uint32_t sum = fold_sum(whole.sum + kIpv4Bytes + bytes + field) ^ 0xffffu;
  store16_be(header + 2, kIpv4Bytes + bytes);
  store16_be(header + 6, field);
  store32_be(header + 8, whole.ttl_and_protocol << 16 | sum);
}

// The L2 header, and before it what room it leaves of the largest, and the IP header.
void copy_headers(uint8_t* to_ip, const uint8_t* ip) noexcept {
  std::memcpy(to_ip - kMostL2Bytes, ip - kMostL2Bytes, kMostL2Bytes + kIpv4Bytes);
}

// Pieces of a packet in one segment, of which each has room in one mbuf of its pool. False: no mbufs.
bool copy_whole_pieces(const rte_mbuf* packet, uint32_t headers, uint32_t step,
                       std::span<rte_mbuf*> pieces) noexcept {
  if (rte_pktmbuf_alloc_bulk(packet->pool, pieces.data(), static_cast<unsigned>(pieces.size())) !=
      0)
    return false;
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  uint32_t from = headers + step;
  for (rte_mbuf* piece : pieces) {
    const uint32_t bytes = std::min(step, packet->data_len - from);
    auto* const to = rte_pktmbuf_mtod(piece, uint8_t*);
    copy_headers(to + headers - kIpv4Bytes, frame + headers - kIpv4Bytes);
    std::memcpy(to + headers, frame + from, bytes);
    piece->data_len = static_cast<uint16_t>(headers + bytes);
    piece->pkt_len = headers + bytes;
    piece->port = packet->port;
    from += step;
  }
  return true;
}

// Of any: each in as many mbufs as it takes.
bool copy_any_pieces(const rte_mbuf* packet, uint32_t headers, uint32_t step,
                     std::span<rte_mbuf*> pieces) noexcept {
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  uint32_t from = headers + step;
  for (size_t n = 0; n < pieces.size(); ++n, from += step) {
    pieces[n] =
        rte_pktmbuf_copy(packet, packet->pool, from, std::min(step, packet->pkt_len - from));
    // A fresh mbuf has RTE_PKTMBUF_HEADROOM before its data.
    if (pieces[n] == nullptr ||
        rte_pktmbuf_prepend(pieces[n], static_cast<uint16_t>(headers)) == nullptr) {
      rte_pktmbuf_free_bulk(pieces.data(), static_cast<unsigned>(pieces[n] == nullptr ? n : n + 1));
      return false;
    }
    copy_headers(rte_pktmbuf_mtod(pieces[n], uint8_t*) + headers - kIpv4Bytes,
                 frame + headers - kIpv4Bytes);
  }
  return true;
}

// Lets go of what lies behind the first `bytes`.
void keep_first(rte_mbuf* packet, uint32_t bytes) noexcept {
  rte_mbuf* last = packet;
  uint32_t left = bytes;
  uint16_t segments = 1;
  for (; left > last->data_len; ++segments) {
    left -= last->data_len;
    last = last->next;
  }
  if (last->next != nullptr) {
    rte_pktmbuf_free(last->next);
    last->next = nullptr;
    packet->nb_segs = segments;
  }
  last->data_len = static_cast<uint16_t>(left);
  packet->pkt_len = bytes;
}

}  // namespace

bool may_be_cut(const uint8_t* ip, uint32_t bytes, uint32_t mtu) noexcept {
  return ip[0] == kPlainHeader && (ip[6] & kDontFragment) == 0 && takes_few_fragments(bytes, mtu);
}

bool takes_few_fragments(uint32_t bytes, uint32_t mtu) noexcept {
  return mtu >= kLeastCutMtu && fragments_of(bytes - kIpv4Bytes, step_of(mtu)) <= kMostFragments;
}

bool ends_beyond_datagram(const uint8_t* ip, uint32_t bytes) noexcept {
  return (load16_be(ip + 6) & kOffset) * 8 + bytes > kLongestDatagram;
}

unsigned fragment_ipv4(rte_mbuf* packet, unsigned l2_length, uint32_t mtu, uint8_t hops,
                       std::span<rte_mbuf*> rest) noexcept {
  uint8_t* const ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2_length);
  const uint32_t headers = l2_length + kIpv4Bytes;
  const uint32_t data = packet->pkt_len - headers;
  const uint32_t step = step_of(mtu);
  const unsigned count = fragments_of(data, step) - 1;
  if (ip[0] != kPlainHeader || count == 0 || count > rest.size()) return 0;
  const std::span<rte_mbuf*> pieces = rest.first(count);
  const bool whole = packet->nb_segs == 1 && headers + step + RTE_PKTMBUF_HEADROOM <=
                                                 rte_pktmbuf_data_room_size(packet->pool);
  if (!(whole ? copy_whole_pieces : copy_any_pieces)(packet, headers, step, pieces)) return 0;
  const Whole of_header(ip, hops);
  for (unsigned n = 0; n < count; ++n) {
    const uint32_t offset = (n + 1) * step;
    finish_header(rte_pktmbuf_mtod_offset(pieces[n], uint8_t*, l2_length), of_header, offset,
                  std::min(step, data - offset), n + 1 == count);
  }
  finish_header(ip, of_header, 0, step, false);
  keep_first(packet, headers + step);
  return count;
}

}  // namespace hecto::router
