// rte_ip_frag_table_del_expired_entries has been "experimental" since 2018.
#define ALLOW_EXPERIMENTAL_API
#include "router/dataplane/stages/reassembly.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/ipsec/esp/hash.hpp"

#include <rte_ip_frag.h>

namespace hecto::router {
namespace {

constexpr unsigned kEntriesPerBucket = 4;
constexpr unsigned kFragmentHeaderBytes = 8;
// config/placement/pools.cpp, which knows nothing of the router, reserves as many.
static_assert(Reassembly::kMostOfKnown + Reassembly::kMostOfOthers == 1280);

}  // namespace

Reassembly::Reassembly()
    : given_up_(std::make_unique<rte_ip_frag_death_row>()), seed_(esp::random_words<3>()) {}

Reassembly::~Reassembly() {
  for (const Part* part : {&known_, &others_})
    if (part->table != nullptr) rte_ip_frag_table_destroy(part->table);
}

// Of the packet's source; also once the library has had it, which leaves source and l2_len alone.
uint16_t& Reassembly::share(Part& part, const rte_mbuf* packet) const noexcept {
  const auto* ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, packet->l2_len);
  const bool v4 = ip[0] >> 4 == 4;
  const uint64_t first = v4 ? load32_native(ip + 12) : load64_native(ip + 8);
  const uint64_t second = v4 ? 0 : load64_native(ip + 16);
  const uint64_t hash = esp::fold_product(first ^ seed_[0], second ^ seed_[1]) ^ seed_[2];
  return part.by_source[hash % part.by_source.size()];
}

void Reassembly::let_go(Part& part, const rte_mbuf* packet, uint32_t fragments) noexcept {
  uint16_t& of_source = share(part, packet);
  of_source = static_cast<uint16_t>(of_source - fragments);
  part.held -= fragments;
  hold(held() - fragments);
}

void Reassembly::free_given_up(Part& part, ReasonCounters& reasons) noexcept {
  const uint32_t count = given_up_->cnt;
  if (count == 0) return;
  uint32_t fragments = 0;  // the library may have joined some before it found a hole
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t segments = given_up_->row[i]->nb_segs;
    let_go(part, given_up_->row[i], segments);
    fragments += segments;
  }
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(fragments);
  rte_pktmbuf_free_bulk(given_up_->row, count);
  given_up_->cnt = 0;
}

void Reassembly::make_table(bool known) noexcept {
  const uint32_t most = known ? kMostOfKnown : kMostOfOthers;
  part(known).table = rte_ip_frag_table_create(most / kEntriesPerBucket, kEntriesPerBucket, most,
                                               rte_get_tsc_hz(), SOCKET_ID_ANY);
}

void Reassembly::prepare() noexcept {
  for (const bool known : {true, false}) make_table(known);
}

bool Reassembly::admit(rte_mbuf* packet, unsigned l2_length, bool known,
                       ReasonCounters& reasons) noexcept {
  Part& to = part(known);
  const uint32_t most = known ? kMostOfKnown : kMostOfOthers;
  if (to.table == nullptr) make_table(known);
  packet->l2_len = l2_length;
  uint16_t& of_source = share(to, packet);
  const bool room = to.held < most && of_source < (known ? kMostOfOneKnown : kMostOfOneOther);
  if (to.table != nullptr && packet->nb_segs == 1 && room) {
    ++of_source;
    ++to.held;
    hold(held() + 1);
    return true;
  }
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(1);
  rte_pktmbuf_free(packet);
  return false;
}

// After a fragment was given to the table.
rte_mbuf* Reassembly::finish_fragment(Part& part, rte_mbuf* whole,
                                      ReasonCounters& reasons) noexcept {
  free_given_up(part, reasons);
  if (whole == nullptr) return nullptr;
  const uint32_t fragments = whole->nb_segs;
  let_go(part, whole, fragments);
  reasons.dropped[static_cast<size_t>(Reason::kEspJoined)].add(fragments - 1);
  if (rte_pktmbuf_linearize(whole) == 0) return whole;
  reasons.dropped[static_cast<size_t>(Reason::kEspFragment)].add(1);
  rte_pktmbuf_free(whole);
  return nullptr;
}

rte_mbuf* Reassembly::take4(rte_mbuf* packet, unsigned l2_length, bool known,
                            ReasonCounters& reasons) noexcept {
  if (!admit(packet, l2_length, known, reasons)) return nullptr;
  auto* ip = rte_pktmbuf_mtod_offset(packet, rte_ipv4_hdr*, l2_length);
  packet->l3_len = (ip->version_ihl & 0xf) * 4u;
  rte_mbuf* whole =
      rte_ipv4_frag_reassemble_packet(part(known).table, given_up_.get(), packet, rte_rdtsc(), ip);
  whole = finish_fragment(part(known), whole, reasons);
  if (whole == nullptr) return nullptr;
  ip = rte_pktmbuf_mtod_offset(whole, rte_ipv4_hdr*, l2_length);
  ip->hdr_checksum = 0;
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  return whole;
}

rte_mbuf* Reassembly::take6(rte_mbuf* packet, unsigned l2_length, bool known,
                            ReasonCounters& reasons) noexcept {
  if (!admit(packet, l2_length, known, reasons)) return nullptr;
  auto* ip = rte_pktmbuf_mtod_offset(packet, rte_ipv6_hdr*, l2_length);
  auto* fragment = reinterpret_cast<rte_ipv6_fragment_ext*>(ip + 1);
  packet->l3_len = kIpv6Bytes + kFragmentHeaderBytes;
  rte_mbuf* whole = rte_ipv6_frag_reassemble_packet(part(known).table, given_up_.get(), packet,
                                                    rte_rdtsc(), ip, fragment);
  return finish_fragment(part(known), whole, reasons);
}

void Reassembly::expire(ReasonCounters& reasons) noexcept {
  const uint64_t now = rte_rdtsc();
  if (now < expired_at_) return;
  expired_at_ = now + rte_get_tsc_hz() / 8;
  for (Part* part : {&known_, &others_}) {
    if (part->table == nullptr) continue;
    rte_ip_frag_table_del_expired_entries(part->table, given_up_.get(), now);
    free_given_up(*part, reasons);
  }
}

}  // namespace hecto::router
