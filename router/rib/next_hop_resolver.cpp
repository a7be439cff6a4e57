#include "router/rib/next_hop_resolver.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

NextHopRecord verdict(RecordKind kind, Reason reason) {
  NextHopRecord record{};
  record.kind = kind;
  record.reason = static_cast<uint8_t>(reason);
  return record;
}

NextHopResolution dead() {
  NextHopResolution resolution;
  resolution.alive = false;
  resolution.record = verdict(RecordKind::kDrop, Reason::kInterfaceDown);
  return resolution;
}

NextHopRecord own() {
  NextHopRecord record = verdict(RecordKind::kPunt, Reason::kLocal);
  record.own = 1;
  return record;
}

NextHopRecord verdict(RouteType type) {
  switch (type) {
    case RouteType::kLocal:
      return own();
    case RouteType::kBroadcast:
      return verdict(RecordKind::kPunt, Reason::kBroadcast);
    case RouteType::kMulticast:
      return verdict(RecordKind::kPunt, Reason::kMulticast);
    case RouteType::kBlackhole:
      return verdict(RecordKind::kDrop, Reason::kBlackhole);
    case RouteType::kUnreachable:
      return verdict(RecordKind::kPunt, Reason::kUnreachable);
    case RouteType::kProhibit:
      return verdict(RecordKind::kPunt, Reason::kProhibit);
    case RouteType::kUnicast:
      break;
  }
  return verdict(RecordKind::kPunt, Reason::kNoRoute);
}

uint8_t* put_ether_type(uint8_t* out, uint16_t type_native) {
  std::memcpy(out, &type_native, sizeof type_native);
  return out + sizeof type_native;
}

uint8_t* put_tag(uint8_t* out, uint16_t type_native, uint16_t vlan) {
  out = put_ether_type(out, type_native);
  store16_be(out, vlan);  // priority 0
  return out + sizeof(uint16_t);
}

// Labels as rewrite puts them on, and what they leave of the MTU (mpls_dev_mtu(), lwtunnel_headroom()).
void put_labels(NextHopRecord& record, const LabelStack& labels, uint8_t ttl) {
  record.kind = RecordKind::kLabelled;
  record.reason = static_cast<uint8_t>(Reason::kLocal);
  record.label_count = labels.count;
  record.label_ttl = ttl;
  for (unsigned i = 0; i < labels.count; ++i) {
    uint8_t entry[kLabelBytes];
    store32_be(entry, labels.labels[i] << 12);
    record.labels[i] = load32_native(entry);
  }
}

uint16_t less_labels(uint16_t mtu, unsigned labels) {
  return static_cast<uint16_t>(mtu - std::min<unsigned>(mtu, labels * kLabelBytes));
}

// Destination, source, tags, EtherType.
void put_header(NextHopRecord& record, const InterfaceState& interface, const MacAddress& to,
                const VlanTags& tags, uint16_t ether_type) {
  uint8_t* out = std::copy(to.begin(), to.end(), record.header);
  out = std::copy(interface.mac.begin(), interface.mac.end(), out);
  if (tags.count() > 0)
    out = put_tag(out, tags.service ? kEtherServiceVlan : kEtherVlan, tags.first());
  if (tags.count() > 1) out = put_tag(out, kEtherVlan, tags.vlan);
  out = put_ether_type(out, ether_type);
  record.header_length = static_cast<uint8_t>(out - record.header);
}

}  // namespace

NextHopResolution NextHopResolver::resolve(const NextHopContent& content) const {
  NextHopResolution resolution = resolve_one(content);
  NextHopRecord& record = resolution.record;
  if ((lookup::leaves_by_port(record.kind) || record.kind == RecordKind::kTunnel) &&
      content.mtu != 0) {
    constexpr uint16_t kLeastOfIpv6 = 1280;  // RFC 8200 §5
    const bool ipv6 = content.family == Family::kIpv6;
    record.mtu = std::min(record.mtu, ipv6 ? std::max(content.mtu, kLeastOfIpv6) : content.mtu);
  }
  if (record.kind == RecordKind::kLabelled)
    record.mtu = less_labels(record.mtu, record.label_count);
  return resolution;
}

NextHopResolution NextHopResolver::resolve_one(const NextHopContent& content) const {
  NextHopResolution resolution;
  if (content.type == RouteType::kUnicast) {
    if (content.object == 0 && content.next_hops.size() == 1) {
      return resolve(content.next_hops[0], content);
    }
    const NextHopObject* object = objects_.find(content.object);
    if (object != nullptr && object->blackhole) {
      resolution.record = verdict(RecordKind::kDrop, Reason::kBlackhole);
      return resolution;
    }
    if (object != nullptr && object->next_hop) return resolve(*object->next_hop, content);
    // The kernel forgets an object's routes without a word (the mirror reads them again): until
    // then Linux decides.
    resolution.alive = false;
  }
  resolution.record = verdict(content.type);
  return resolution;
}

NextHopResolution NextHopResolver::resolve(const NextHop& hop,
                                           const NextHopContent& content) const {
  if (hop.dead) return dead();
  if (content.labelled && !hop.gateway) return received_by(hop);
  NextHopResolution resolution;
  InterfaceId id = hop.interface;
  if (hop.ifindex != 0) {
    InterfaceId twin = interfaces_.by_ifindex(hop.ifindex);
    // Into a VRF's device Linux leads: it looks up again there.
    const InterfaceState* const device = interfaces_.find(twin);
    if (device != nullptr && !device->vrf_device) id = twin;
    if (id == kNoInterface) {
      // By a device that only Linux has (a tunnel, a management NIC): Linux forwards it.
      // An IPsec interface's policies are asked first.
      resolution.record = verdict(RecordKind::kPunt, Reason::kLocal);
      resolution.record.if_id = interfaces_.if_id(hop.ifindex);
      resolution.reachable_by.set(kUrpfAnyBit);
      return resolution;
    }
  } else if (id == kNoInterface && hop.gateway) {
    id = interfaces_.covering(*hop.gateway);
    if (id == kNoInterface) {
      resolution.alive = false;
      resolution.record = verdict(RouteType::kUnicast);
      return resolution;
    }
  }
  const InterfaceState* interface = interfaces_.find(id);
  return interface == nullptr ? dead() : resolve_on(*interface, hop, content);
}

// By lo, which is whatever the label came in by, or by a VRF. Linux's where it is anything else.
NextHopResolution NextHopResolver::received_by(const NextHop& hop) const {
  NextHopResolution resolution;
  const InterfaceId id = interfaces_.by_ifindex(hop.ifindex);
  const InterfaceState* const device = interfaces_.find(id);
  const bool of_vrf = device != nullptr && device->vrf_device;
  const bool known = of_vrf || interfaces_.is_loopback(hop.ifindex);
  if (of_vrf && !interfaces_.up(*device)) return dead();
  resolution.record = verdict(RecordKind::kPunt, Reason::kLocal);
  resolution.reachable_by.set(kUrpfAnyBit);
  if (!known || hop.labels.count != 0) return resolution;
  resolution.record.kind = RecordKind::kReceive;
  resolution.interface = of_vrf ? id : kNoInterface;
  resolution.record.interface = resolution.interface;
  resolution.record.label_ttl = label_ttl(hop.labels, true);
  return resolution;
}

// `labelled`: of what comes in with a label, where the value says no more than whether there is one.
uint8_t NextHopResolver::label_ttl(const LabelStack& labels, bool labelled) const {
  if (labels.ttl) return *labels.ttl;
  const LabelSwitches& switches = interfaces_.label_switches();
  if (switches.propagates_ttl) return 0;
  return labelled ? 255 : std::max<uint8_t>(switches.default_ttl, 1);
}

NextHopResolution NextHopResolver::resolve_on(const InterfaceState& interface, const NextHop& hop,
                                              const NextHopContent& content) const {
  NextHopResolution resolution = interfaces_.up(interface) ? NextHopResolution{} : dead();
  resolution.interface = interface.id;
  resolution.gateway = hop.gateway;
  resolution.reachable_by.set(interface.id).set(kUrpfAnyBit);
  // What comes for a macvlan's address comes by the same wire.
  for (const InterfaceId macvlan : interfaces_.macvlans(interface.id))
    resolution.reachable_by.set(macvlan);
  if (!resolution.alive) return resolution;
  const bool with_labels = content.labelled || hop.labels.count != 0;
  if (with_labels && (interface.tunnel || !hop.gateway)) {
    resolution.record = verdict(RecordKind::kPunt, Reason::kLocal);
    return resolution;
  }
  if (interface.tunnel) {
    resolution.record = verdict(RecordKind::kTunnel, Reason::kLocal);
    resolution.record.interface = interface.id;
    resolution.record.mtu = interfaces_.mtu(interface);
    return resolution;
  }
  const Neighbor* neighbor = hop.gateway ? neighbors_.find(interface, *hop.gateway) : nullptr;
  const bool known = neighbor != nullptr && neighbor->usable;
  auto egress =
      std::optional(Interfaces::Egress{interface.port, interface.tags, interfaces_.mtu(interface)});
  if (interface.bridge != 0)
    egress = known ? interfaces_.egress(interface, neighbor->mac) : std::nullopt;
  if (!known || !egress) {
    resolution.record = verdict(RecordKind::kPunt, Reason::kGlean);
    resolution.record.interface = interface.id;  // by which Linux will send it
    resolution.record.mtu = interfaces_.mtu(interface);
    resolution.alive = known || neighbor == nullptr || !neighbor->silent;
    return resolution;
  }
  NextHopRecord& record = resolution.record;
  record.kind = RecordKind::kForward;
  const uint16_t of_family = content.family == Family::kIpv4 ? kEtherIpv4 : kEtherIpv6;
  put_header(record, interface, neighbor->mac, egress->tags, with_labels ? kEtherMpls : of_family);
  if (with_labels) put_labels(record, hop.labels, label_ttl(hop.labels, content.labelled));
  record.port = egress->port;
  record.interface = interface.id;
  record.mtu = std::min(interfaces_.mtu(interface), egress->mtu);
  return resolution;
}

}  // namespace hecto::router
