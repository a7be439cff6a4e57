#include "router/dataplane/snapshot_builder.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {

namespace {

// The first of each family; of IPv6 one that is not link-local.
void put_addresses(InterfaceView& view, const std::vector<IpPrefix>& addresses) {
  for (const IpPrefix& own : addresses) {
    if (own.address.family == Family::kIpv4) {
      if (view.address4 == 0) view.address4 = own.address.v4().value;
      continue;
    }
    const lookup::Ipv6Address address = own.address.v6();
    const bool link_local = address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
    if (!link_local && view.address6 == lookup::Ipv6Address{}) view.address6 = address;
  }
}

bool checks_sources(const InterfaceSetup& interface) {
  return interface.urpf != UrpfMode::kOff || interface.rp_filter != UrpfMode::kOff;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(size_t workers) : snapshot_(std::make_unique<Snapshot>()) {
  snapshot_->workers.resize(workers);
}

void SnapshotBuilder::add_port(const PortSetup& port) {
  PortView& view = snapshot_->ports[port.id];
  view.present = true;
  view.longest_frame = port.longest_frame;
  view.bond = port.bond;
  view.watched = port.longest_frame != 0 || port.bond;
  view.opens_esp = port.opens_esp;
  view.trusts_checksums = port.checks_ipv4;
  hides_service_tags_[port.id] = port.hides_service_tags;
  snapshot_->seals_esp |= port.seals_esp;
  std::memcpy(&view.mac, port.mac.data(), port.mac.size());

  std::vector<WorkerView>& workers = snapshot_->workers;
  for (QueueId queue = 0; queue < port.queue_workers.size(); ++queue) {
    WorkerView& worker = workers[port.queue_workers[queue]];
    worker.queues.push_back({port.id, queue, port.interrupts});
    worker.can_wait &= port.wakes;
  }
  for (size_t i = 0; i < workers.size(); ++i) workers[i].transmit[port.id] = port.transmit[i];
  snapshot_->slow_path[port.id] = port.transmit[workers.size()];
  // Sent by who receives from it, where that has a transmit queue of its own; those have the first.
  if (port.sends_lacp)
    for (const unsigned worker : port.queue_workers)
      if (const TransmitPath& path = port.transmit[worker]; path.handoff == nullptr) {
        workers[worker].lacp.push_back({port.id, path.queue});
        break;
      }
  for (const auto& [ring, owner] : port.handoffs)
    workers[owner].handoffs.push_back({ring, port.id});
  for (QueueId queue = 0; queue < port.spreads.size(); ++queue)
    add_spread(port, queue, port.spreads[queue]);
}

void SnapshotBuilder::add_spread(const PortSetup& port, QueueId queue,
                                 const PortSetup::Spread& spread) {
  std::vector<WorkerView>& workers = snapshot_->workers;
  for (const auto& [ring, worker] : spread.readers)
    workers[worker].spreads.push_back({ring, port.id, queue});
  if (spread.table.lane_count == 0) return;
  snapshot_->spreads.push_back(std::make_shared<const SpreadTable>(spread.table));
  for (ReceiveQueue& mine : workers[port.queue_workers[queue]].queues)
    if (mine.port == port.id && mine.queue == queue) mine.spread = snapshot_->spreads.back().get();
}

void SnapshotBuilder::Tagged::put(const VlanTags& tags, InterfaceId interface) {
  if (tags.stacked()) {
    stacked.emplace_back(tags, interface);
    return;
  }
  if (!vlans) {
    vlans = std::make_shared<ByVlan>();
    vlans->fill(kNoInterface);
  }
  (*vlans)[tags.vlan] = interface;
}

// What comes in by a tag that it has in truth is its own.
TaggedInterfaces SnapshotBuilder::Tagged::finish() {
  for (const auto& [tags, interface] : hidden)
    if (tags.stacked() || !vlans || (*vlans)[tags.vlan] == kNoInterface) put(tags, interface);
  TaggedInterfaces made{std::move(vlans), nullptr};
  if (!stacked.empty()) made.stacked = std::make_shared<const TagTable>(stacked);
  return made;
}

void SnapshotBuilder::put(Tagged& table, PortId port, const VlanTags& tags, InterfaceId interface) {
  table.put(tags, interface);
  if (tags.service && hides_service_tags_[port])
    table.hidden.emplace_back(VlanTags{tags.vlan, tags.outer_vlan, false}, interface);
}

void SnapshotBuilder::add_interface(const InterfaceSetup& interface) {
  const bool of_port = interface.port != kNoPort;
  if (of_port && !snapshot_->ports[interface.port].present) return;
  InterfaceView& view = snapshot_->interfaces[interface.id];
  view.up = interface.up;
  view.urpf = interface.urpf;
  view.counters = interface.counters;
  view.rp_filter = interface.rp_filter;
  view.forwards4 = interface.forwards4;
  view.forwards6 = interface.forwards6;
  view.linux_only = interface.linux_only;
  view.redirects4 = interface.redirects4;
  view.redirects6 = interface.redirects6;
  view.mtu = interface.mtu;
  view.clamps_mss = interface.clamps_mss;
  view.labels = interface.labels;
  view.service_tag = interface.tags.service;
  snapshot_->clamps_mss |= interface.clamps_mss;
  put_addresses(view, interface.addresses);
  view.accepts_own = checks_sources(interface) && interface.accept_local;
  if (view.accepts_own)
    for (const IpPrefix& own : interface.addresses)
      if (own.address.family == Family::kIpv4) view.own4.push_back(own.address.v4().value);
  if (interface.tunnel)
    tunnels_check_ |= checks_sources(interface) || !interface.forwards4 || !interface.forwards6 ||
                      interface.linux_only;
  if (interface.bridged) return;
  if (of_port) attach(interface, interface.port, interface.tags);
  for (const Attachment& to : interface.attached)
    if (snapshot_->ports[to.port].present) attach(interface, to.port, {to.vlan, 0, false});
}

void SnapshotBuilder::attach(const InterfaceSetup& interface, PortId to, const VlanTags& tags) {
  PortView& port = snapshot_->ports[to];
  const bool forwards = interface.forwards4 && interface.forwards6 && !interface.linux_only;
  if (checks_sources(interface) || !forwards) port.features |= kFeatureUrpf;
  if (interface.counters) port.features |= kFeatureCounters;
  port.labels |= interface.labels;
  if (tags.vlan != 0) port.features |= kFeatureVlan;
  snapshot_->features |= port.features;
  if (interface.up) put_station(interface, to, tags);
  if (interface.macvlan) return;
  // Down: the fast loop clears nothing, `diagnose` names the reason.
  if (!interface.up)
    put(down_[to], to, tags, interface.id);
  else if (tags.vlan == 0)
    port.untagged = interface.id;
  else
    put(tagged_[to], to, tags, interface.id);
}

void SnapshotBuilder::put_station(const InterfaceSetup& interface, PortId to,
                                  const VlanTags& tags) {
  uint64_t mac = 0;
  std::memcpy(&mac, interface.mac.data(), interface.mac.size());
  if (mac == 0 || mac == snapshot_->ports[to].mac) return;
  Station& station = stations_[to][mac];
  if (tags.vlan == 0)
    station.untagged = interface.id;
  else
    put(station.tagged, to, tags, interface.id);
}

std::unique_ptr<Snapshot> SnapshotBuilder::finish(const SnapshotSettings& settings, bool linux_side,
                                                  uint64_t generation) {
  for (unsigned i = 0; i < kMaxPorts; ++i) {
    snapshot_->ports[i].tagged = tagged_[i].finish();
    snapshot_->ports[i].down = down_[i].finish();
    if (stations_[i].empty()) continue;
    auto stations = std::make_shared<std::vector<StationView>>();
    for (auto& [mac, station] : stations_[i])
      stations->push_back({mac, station.untagged, station.tagged.finish()});
    snapshot_->ports[i].stations = std::move(stations);
  }
  // What leaves by the interface that clamps, or comes out of a tunnel that checks, may come in by any.
  if (snapshot_->clamps_mss || tunnels_check_) {
    snapshot_->features |= kFeatureUrpf;
    for (PortView& port : snapshot_->ports)
      if (port.present) port.features |= kFeatureUrpf;
  }
  snapshot_->generation = generation;
  snapshot_->linux_side = linux_side;
  snapshot_->closed = settings.closed;
  snapshot_->inherited = settings.inherited;
  snapshot_->burst = settings.burst;
  snapshot_->idle_sleep_us = settings.idle_sleep_us;
  for (size_t i = 0; i < std::min(settings.idle.size(), snapshot_->workers.size()); ++i)
    snapshot_->workers[i].idle = settings.idle[i];
  snapshot_->ecmp_seed = settings.ecmp_seed;
  snapshot_->punt_pps = settings.punt_pps;
  snapshot_->punt_class_pps = settings.punt_class_pps;
  snapshot_->punt_sessions = settings.punt_sessions;
  snapshot_->bridges = settings.bridges;
  snapshot_->flows = settings.flows;
  snapshot_->tunnels = settings.tunnels;
  snapshot_->label_flag = settings.label_flag;
  snapshot_->rules = settings.rules;
  snapshot_->filters = settings.filters;
  snapshot_->nat = settings.nat;
  snapshot_->trace = settings.trace;
  snapshot_->capture = settings.capture;
  snapshot_->sampling = settings.sampling;
  snapshot_->observed = settings.trace || settings.capture;
  if (settings.ipsec) snapshot_->features |= kFeatureIpsec;
  return std::move(snapshot_);
}

}  // namespace hecto::router
