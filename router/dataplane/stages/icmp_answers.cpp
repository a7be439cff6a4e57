#include "router/dataplane/stages/icmp_answers.hpp"

#include "router/dataplane/stages/icmp_error.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {

using lookup::RecordKind;

void IcmpAnswers::use(const Snapshot& snapshot, const TableViews& tables, uint32_t source_pps,
                      Others others, Reason reason) noexcept {
  snapshot_ = &snapshot;
  tables_ = &tables;
  others_ = others;
  const uint32_t all_pps = snapshot.punt_pps[static_cast<size_t>(reason)];
  limit_.configure(rte_get_tsc_hz(), all_pps, source_pps, 2 * source_pps);
}

// A sender whose neighbor entry is not there yet is Linux's to answer, which can ask for it.
template <typename Make>
bool IcmpAnswers::add_made(rte_mbuf* packet, Ingress ingress, Make&& make) noexcept {
  const auto* const ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, ingress.l2_length());
  const InterfaceId interface = ingress.interface();
  const bool v4 = ip[0] >> 4 == 4;
  if (count_ == kChunkSize || interface >= kMaxInterfaces) return false;
  const VrfTables tables(*tables_, snapshot_->rules.get());
  lookup::GroupId group;
  if (v4) {
    group = tables.group(interface, load32_be(ip + 12));
  } else {
    lookup::Ipv6Address source;
    std::memcpy(&source, ip + 8, sizeof source);
    group = tables.group(interface, source);
  }
  const lookup::NextHopRecord& back = tables.all().next_hops.record(group);
  const bool one = lookup::leaves_by_port(back.kind);
  if (!one && back.kind != RecordKind::kMultipath) return false;
  if (others_ == Others::kLeft && !(one && back.interface == interface)) return false;
  if (!limit_.take(ip, interface, rte_rdtsc())) return false;
  const InterfaceView& view = snapshot_->interfaces[interface];
  if (!make(v4, view)) return false;
  answers_[count_++] = {packet, ingress, group, v4};
  made_.add(1);
  return true;
}

bool IcmpAnswers::add(rte_mbuf* packet, Ingress ingress, uint32_t mtu) noexcept {
  return add_made(packet, ingress, [&](bool v4, const InterfaceView& view) {
    return (v4 ? make_too_big4 : make_too_big6)(packet, ingress.l2_length(),
                                                static_cast<uint16_t>(mtu), view);
  });
}

bool IcmpAnswers::add_prohibited(rte_mbuf* packet, Ingress ingress) noexcept {
  return add_made(packet, ingress, [&](bool v4, const InterfaceView& view) {
    return (v4 ? make_prohibited4 : make_prohibited6)(packet, ingress.l2_length(), view);
  });
}

}  // namespace hecto::router
