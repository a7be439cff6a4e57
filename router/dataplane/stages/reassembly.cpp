// rte_ip_frag_table_del_expired_entries has been "experimental" since 2018.
#define ALLOW_EXPERIMENTAL_API
#include "router/dataplane/stages/reassembly.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"

#include <rte_ip_frag.h>

namespace hecto::router {
namespace {

constexpr unsigned kEntriesPerBucket = 4;
constexpr unsigned kFragmentHeaderBytes = 8;

}  // namespace

Reassembly::Reassembly() : given_up_(std::make_unique<rte_ip_frag_death_row>()) {}

Reassembly::~Reassembly() {
  if (table_ != nullptr) rte_ip_frag_table_destroy(table_);
}

void Reassembly::free_given_up(ReasonCounters& reasons) noexcept {
  const uint32_t count = given_up_->cnt;
  if (count == 0) return;
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(count);
  rte_pktmbuf_free_bulk(given_up_->row, count);
  given_up_->cnt = 0;
  hold(held() - count);
}

bool Reassembly::admit(rte_mbuf* packet, ReasonCounters& reasons) noexcept {
  if (table_ == nullptr)
    table_ = rte_ip_frag_table_create(kMostPackets / kEntriesPerBucket, kEntriesPerBucket,
                                      kMostPackets, rte_get_tsc_hz(), SOCKET_ID_ANY);
  if (table_ != nullptr && packet->nb_segs == 1) {
    hold(held() + 1);
    return true;
  }
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(1);
  rte_pktmbuf_free(packet);
  return false;
}

// After a fragment was given to the table.
rte_mbuf* Reassembly::finish_fragment(rte_mbuf* whole, ReasonCounters& reasons) noexcept {
  free_given_up(reasons);
  if (whole == nullptr) return nullptr;
  const uint32_t fragments = whole->nb_segs;
  hold(held() - fragments);
  reasons.dropped[static_cast<size_t>(Reason::kEspJoined)].add(fragments - 1);
  if (rte_pktmbuf_linearize(whole) == 0) return whole;
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(1);
  rte_pktmbuf_free(whole);
  return nullptr;
}

rte_mbuf* Reassembly::take4(rte_mbuf* packet, unsigned l2_length,
                            ReasonCounters& reasons) noexcept {
  if (!admit(packet, reasons)) return nullptr;
  auto* ip = rte_pktmbuf_mtod_offset(packet, rte_ipv4_hdr*, l2_length);
  packet->l2_len = l2_length;
  packet->l3_len = (ip->version_ihl & 0xf) * 4u;
  rte_mbuf* whole =
      rte_ipv4_frag_reassemble_packet(table_, given_up_.get(), packet, rte_rdtsc(), ip);
  whole = finish_fragment(whole, reasons);
  if (whole == nullptr) return nullptr;
  ip = rte_pktmbuf_mtod_offset(whole, rte_ipv4_hdr*, l2_length);
  ip->hdr_checksum = 0;
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  return whole;
}

rte_mbuf* Reassembly::take6(rte_mbuf* packet, unsigned l2_length,
                            ReasonCounters& reasons) noexcept {
  if (!admit(packet, reasons)) return nullptr;
  auto* ip = rte_pktmbuf_mtod_offset(packet, rte_ipv6_hdr*, l2_length);
  auto* fragment = reinterpret_cast<rte_ipv6_fragment_ext*>(ip + 1);
  packet->l2_len = l2_length;
  packet->l3_len = kIpv6Bytes + kFragmentHeaderBytes;
  rte_mbuf* whole =
      rte_ipv6_frag_reassemble_packet(table_, given_up_.get(), packet, rte_rdtsc(), ip, fragment);
  return finish_fragment(whole, reasons);
}

void Reassembly::expire(ReasonCounters& reasons) noexcept {
  const uint64_t now = rte_rdtsc();
  if (now < expired_at_) return;
  expired_at_ = now + rte_get_tsc_hz() / 8;
  rte_ip_frag_table_del_expired_entries(table_, given_up_.get(), now);
  free_given_up(reasons);
}

}  // namespace hecto::router
