#include "router/dataplane/punt/punt_gate.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/punt/classifier.hpp"

namespace hecto::router {
namespace {

// Linux answers with an ICMP error, or keeps the packet until its neighbor is known.
bool has_shares(PuntClass punt_class) noexcept {
  return punt_class == PuntClass::kTtl || punt_class == PuntClass::kTooBig ||
         punt_class == PuntClass::kNoRoute || punt_class == PuntClass::kGlean;
}

struct Ends {
  uint64_t source[2], destination[2];
};
std::optional<Ends> ends_of(const rte_mbuf* packet) noexcept {
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  if (packet->data_len < kEthernetBytes) return std::nullopt;
  const auto [l2, type, tags] = read_frame_tags(frame, packet->data_len);
  const uint8_t* ip = frame + l2;
  if (type == kEtherIpv4 && packet->data_len >= l2 + kIpv4Bytes)
    return Ends{{load32_native(ip + 12), 0}, {load32_native(ip + 16), 0}};
  if (type == kEtherIpv6 && packet->data_len >= l2 + kIpv6Bytes)
    return Ends{{load64_native(ip + 8), load64_native(ip + 16)},
                {load64_native(ip + 24), load64_native(ip + 32)}};
  return std::nullopt;
}

}  // namespace

void PuntGate::configure(uint64_t ticks_per_second, const PuntRates& rates) noexcept {
  meter_.configure(ticks_per_second, rates);
  errors_.configure(ticks_per_second, kErrorsPps, kErrorsBurst);
  gleaning_.configure(ticks_per_second, kGleaningPps, kGleaningBurst);
  destinations_.configure(ticks_per_second, kDestinationPps, kDestinationBurst);
}

bool PuntGate::take(const rte_mbuf* packet, Reason reason, PuntClass punt_class,
                    InterfaceId interface, uint64_t now) noexcept {
  const auto ends = has_shares(punt_class) ? ends_of(packet) : std::nullopt;
  if (!ends) return meter_.take(reason, punt_class, interface, now);
  const bool glean = punt_class == PuntClass::kGlean;
  auto& sources = glean ? gleaning_ : errors_;
  uint64_t& source = sources.bucket(ends->source[0], ends->source[1]);
  if (!sources.ready(source, now)) return false;
  uint64_t& destination = destinations_.bucket(ends->destination[0], ends->destination[1]);
  if (glean && !destinations_.ready(destination, now)) return false;
  if (!meter_.take(reason, punt_class, interface, now)) return false;
  sources.spend(source, now);
  if (glean) destinations_.spend(destination, now);
  return true;
}

PuntGate::Answer PuntGate::ask(const rte_mbuf* packet, Reason reason, InterfaceId interface,
                               const TableViews& tables, const PuntSessions* sessions,
                               uint64_t now) noexcept {
  const PuntClass each = punt_class(packet, reason, tables, sessions);
  const bool may_pass = take(packet, reason, each, interface, now);
  if (!may_pass) meter_.dropped(each, interface);
  return {each, may_pass};
}

}  // namespace hecto::router
