// Building a snapshot from the state of the data plane, and retiring the one before.
#include <algorithm>
#include <cstring>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/dataplane.hpp"

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

}  // namespace

void Dataplane::fill_ports(Snapshot& snapshot) const {
  using ByVlan = std::array<InterfaceId, 4096>;
  std::array<std::shared_ptr<ByVlan>, kMaxPorts> vlans, down;
  const auto put = [](std::shared_ptr<ByVlan>& table, uint16_t vlan, InterfaceId id) {
    if (!table) {
      table = std::make_shared<ByVlan>();
      table->fill(kNoInterface);
    }
    (*table)[vlan] = id;
  };
  for (const auto& [name, port] : ports_) {
    PortView& view = snapshot.ports[port->id()];
    const MacAddress mac = port->mac();
    view.present = true;
    view.check_checksums = port->kernel_interface();
    view.opens_esp = port->crypto().opens;
    snapshot.seals_esp |= port->crypto().seals;
    std::memcpy(&view.mac, mac.data(), mac.size());
  }
  for (const auto& [id, interface] : interfaces_) {
    PortView& view = snapshot.ports[interface.port];
    if (!view.present) continue;
    snapshot.interfaces[id] = {interface.up, interface.urpf, interface.counters};
    put_addresses(snapshot.interfaces[id], interface.addresses);
    if (interface.urpf != UrpfMode::kOff) snapshot.features |= kFeatureUrpf;
    if (interface.counters) snapshot.features |= kFeatureCounters;
    if (interface.vlan != 0) snapshot.features |= kFeatureVlan;
    // Down: the fast loop clears nothing, `diagnose` names the reason.
    if (!interface.up)
      put(down[interface.port], interface.vlan, id);
    else if (interface.vlan == 0)
      view.untagged = id;
    else
      put(vlans[interface.port], interface.vlan, id);
  }
  for (unsigned i = 0; i < kMaxPorts; ++i) {
    snapshot.ports[i].vlans = std::move(vlans[i]);
    snapshot.ports[i].down = std::move(down[i]);
  }
}

void Dataplane::fill_workers(Snapshot& snapshot) const {
  snapshot.workers.resize(workers_.size());
  for (const auto& [name, port] : ports_) {
    const auto& owners = queue_workers_.at(name);
    for (uint16_t queue = 0; queue < owners.size(); ++queue)
      snapshot.workers[owners[queue]].queues.push_back({port->id(), queue});
    const bool linear = !port->sends_segments();
    const auto handoff = handoffs_.find(name);
    if (handoff == handoffs_.end()) {
      for (size_t i = 0; i < workers_.size(); ++i)
        snapshot.workers[i].transmit[port->id()] = {static_cast<uint16_t>(i), linear, nullptr};
      snapshot.slow_path[port->id()] = {static_cast<uint16_t>(workers_.size()), linear, nullptr};
      continue;
    }
    rte_ring* ring = handoff->second.ring.get();
    for (size_t i = 0; i < workers_.size(); ++i) {
      const bool owner = i == handoff->second.owner;
      snapshot.workers[i].transmit[port->id()] = {0, linear, owner ? nullptr : ring};
      if (owner) snapshot.workers[i].handoffs.push_back({ring, port->id()});
    }
    snapshot.slow_path[port->id()] = {0, linear, ring};
  }
}

std::unique_ptr<Snapshot> Dataplane::build() const {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->generation = generation_ + 1;
  snapshot->linux_side = options_.linux_side;
  snapshot->burst = settings_.burst;
  snapshot->idle_sleep_us = settings_.idle_sleep_us;
  snapshot->punt_pps = settings_.punt_pps;
  snapshot->trace = settings_.trace;
  snapshot->capture = settings_.capture;
  snapshot->observed = settings_.trace || settings_.capture;
  if (settings_.ipsec) snapshot->features |= kFeatureIpsec;
  fill_ports(*snapshot);
  fill_workers(*snapshot);
  return snapshot;
}

void Dataplane::publish() {
  std::unique_ptr<Snapshot> next = build();
  const Snapshot* before = current_.exchange(next.release(), std::memory_order_acq_rel);
  ++generation_;
  if (before != nullptr)
    retired_.push_back({std::unique_ptr<const Snapshot>(before), tables_.qsbr().start()});
  reclaim();
}

void Dataplane::reclaim() {
  while (!retired_.empty() && tables_.qsbr().passed(retired_.front().token)) retired_.pop_front();
  if (retired_.empty()) free_unused_pools();
}

}  // namespace hecto::router
