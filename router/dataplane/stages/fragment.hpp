// IPv4 fragmentation (RFC 791 §3.2), of what must fit its next hop's MTU, or a tunnel.
#pragma once

#include <cstdint>
#include <span>

struct rte_mbuf;

namespace hecto::router {

inline constexpr uint32_t kLeastCutMtu = 68;    // RFC 791: below that no packet is cut
inline constexpr uint32_t kMostFragments = 64;  // of one packet; what needs more is Linux's work

// Whether a packet of `bytes`, longer than `mtu`, may be cut here: without DF and options, to not too
// many. `ip`: an IPv4 header that has been checked.
bool may_be_cut(const uint8_t* ip, uint32_t bytes, uint32_t mtu) noexcept;
// What of that the sizes decide: neither too narrow nor too many.
bool takes_few_fragments(uint32_t bytes, uint32_t mtu) noexcept;
// Whether it says that it ends beyond the longest datagram: its fragments' offsets would not fit
// their field.
bool ends_beyond_datagram(const uint8_t* ip, uint32_t bytes) noexcept;

// Cuts a packet without options, as long as its header says, to IP packets of at most `mtu` bytes
// (kLeastCutMtu or more). It becomes the first; the others go to `rest`, in order, with a copy of its
// `l2_length` bytes before the IP header, in mbufs of its pool. `hops` are taken off the TTL of
// each. Returns how many those are. 0: more
// than fit there, options, or no mbufs, and the packet is as it was.
unsigned fragment_ipv4(rte_mbuf* packet, unsigned l2_length, uint32_t mtu, uint8_t hops,
                       std::span<rte_mbuf*> rest) noexcept;

}  // namespace hecto::router
