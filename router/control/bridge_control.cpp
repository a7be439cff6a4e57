#include "router/control/bridge_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/linux_side.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

constexpr unsigned kPassesAnAge = 3;
constexpr uint32_t kShortestAge_s = 3;

uint64_t word_of(const MacAddress& mac) {
  uint64_t word = 0;
  std::memcpy(&word, mac.data(), mac.size());
  return word;
}

}  // namespace

const Bridges& BridgeControl::known() const {
  return routing_.interfaces().bridges();
}

uint64_t BridgeControl::key_of(const Bridges::Key& key, unsigned index) const {
  return lookup::MacTable::key(bridge_domain(index, key.vlan), word_of(key.mac));
}

// Why a bridge's packets stay with Linux; empty: they do not.
std::string BridgeControl::trouble_of(int bridge) const {
  const LinuxLink& link = known().bridges().at(bridge).link;
  if (link.bridge->service_tags && link.bridge->filters_vlans)
    return "its VLANs are those of 802.1ad";
  for (const auto& [ifindex, port] : known().ports())
    if (port.bridge == bridge && port.link.bridge_port->beyond)
      return fmt::format("its port {} has VLAN tunnels, 802.1X, neighbor suppression or a backup",
                         port.link.name);
  return "";
}

unsigned BridgeControl::free_index() const {
  unsigned index = 0;
  const auto taken = [&](const auto& each) { return each.second.index == index; };
  while (std::any_of(carried_.begin(), carried_.end(), taken)) ++index;
  return index;
}

// Bridges that have a twin among their ports; those of a port's untagged interface alone.
std::map<int, BridgeControl::Carried> BridgeControl::wanted() const {
  std::map<int, Carried> all;
  for (const auto& [ifindex, port] : known().ports()) {
    if (!known().bridges().contains(port.bridge) || !trouble_of(port.bridge).empty()) continue;
    const Interface* const interface = interfaces_.table().by_ifindex(ifindex);
    if (interface == nullptr || !interface->has_twin || interface->tags.vlan != 0) continue;
    if (!all.contains(port.bridge) && !carried_.contains(port.bridge) && all.size() >= kMostBridges)
      continue;
    all[port.bridge].ports[ifindex] = interface->id;
  }
  return all;
}

// Bridges and ports of what is carried may be gone from what is known until configure() has been.
void BridgeControl::tick() {
  const bool entries = follow_entries();
  const uint64_t interfaces = routing_.interfaces().version();
  if (version_ == known().version() && interfaces_version_ == interfaces) {
    if (entries && watch_limits()) set_ports();
    return;
  }
  if (!carried_.empty() || !known().ports().empty()) configure();
  // What was done here has changed interfaces, too.
  version_ = known().version();
  interfaces_version_ = routing_.interfaces().version();
}

void BridgeControl::configure() {
  auto all = wanted();
  if (!all.empty() && !stations_)
    stations_ = plane_.make_station_table(config_.tables.bridge_stations);
  no_memory_ = !all.empty() && !stations_;
  if (no_memory_) all.clear();
  for (auto at = carried_.begin(); at != carried_.end();) {
    const auto next = std::next(at);
    if (!all.contains(at->first)) {
      erase_all_of(at->first);
      carried_.erase(at);
    }
    at = next;
  }
  for (const auto& [bridge, wanted] : all) {
    const auto before = carried_.find(bridge);
    const bool same = before != carried_.end() && before->second.ports == wanted.ports;
    if (before == carried_.end() && carried_.size() >= kMostBridges) continue;
    if (before == carried_.end()) carried_[bridge].index = free_index();
    carried_[bridge].ports = wanted.ports;
    if (!same) write_all_of(bridge);
  }
  (void)watch_limits();
  set_interfaces();
  set_ports();
  std::vector<std::string> now = lines();
  for (const std::string& line : now)
    if (std::find(told_.begin(), told_.end(), line) == told_.end()) spdlog::warn(line);
  told_ = std::move(now);
}

// ---- Stations ----

// True: there were some.
bool BridgeControl::follow_entries() {
  const std::vector<Bridges::Key> changes = routing_.take_fdb_changes();
  if (stations_) stations_->reclaim();
  for (const Bridges::Key& key : changes) write(key);
  return !changes.empty();
}

// What is on a port that is not ours is Linux's to reach.
void BridgeControl::write(const Bridges::Key& key) {
  const auto bridge = carried_.find(key.bridge);
  if (bridge == carried_.end()) return;
  const uint64_t word = key_of(key, bridge->second.index);
  const Bridges::Entry* const entry = known().find(key);
  const auto port =
      entry == nullptr ? bridge->second.ports.end() : bridge->second.ports.find(entry->port);
  if (entry != nullptr && entry->local) {
    no_room_ += !stations_->set(word, kBridgeOwn);
  } else if (port != bridge->second.ports.end()) {
    const Interface* const interface = interfaces_.table().find(port->second);
    if (interface != nullptr) no_room_ += !stations_->set(word, interface->port);
  } else {
    (void)stations_->erase(word);
  }
}

void BridgeControl::erase_all_of(int bridge) {
  const unsigned index = carried_.at(bridge).index;
  known().visit([&](const Bridges::Key& key, const Bridges::Entry&) {
    if (key.bridge == bridge) (void)stations_->erase(key_of(key, index));
  });
}

void BridgeControl::write_all_of(int bridge) {
  known().visit([&](const Bridges::Key& key, const Bridges::Entry&) {
    if (key.bridge == bridge) write(key);
  });
}

// A port is full until a twentieth of its stations has gone, so that it does not flap. True: others
// are full than before.
bool BridgeControl::watch_limits() {
  const auto& tables = config_.tables;
  const auto at_limit = [](size_t count, size_t limit, bool before) {
    return count >= (before ? limit - limit / 20 : limit);
  };
  const size_t all = stations_ ? stations_->size() : 0;
  std::set<int> full;
  for (const auto& [bridge, carried] : carried_)
    for (const auto& [port, id] : carried.ports) {
      const bool before = full_.contains(port);
      if (at_limit(known().entries_of(port), tables.bridge_stations_per_port, before) ||
          at_limit(all, tables.bridge_stations, before))
        full.insert(port);
    }
  for (const int port : full)
    if (!full_.contains(port))
      spdlog::warn(
          "bridge port {}: {} stations, {} in all: no more are learned (tables.bridge_stations, "
          "tables.bridge_stations_per_port)",
          known().ports().at(port).link.name, known().entries_of(port), all);
  const bool changed = full != full_;
  full_ = std::move(full);
  return changed;
}

// Each dynamic entry is looked at three times within the ageing time.
void BridgeControl::tick_second() {
  if (carried_.empty()) return;
  uint32_t age_s = ~uint32_t{0};
  for (const auto& [ifindex, bridge] : known().bridges())
    if (carried_.contains(ifindex)) age_s = std::min(age_s, bridge.link.bridge->ageing_cs / 100);
  age_s = std::max(age_s, kShortestAge_s);
  if (aged_.empty())
    known().visit([&](const Bridges::Key& key, const Bridges::Entry& entry) {
      if (!entry.fixed && carried_.contains(key.bridge)) aged_.push_back(key);
    });
  const size_t share = std::max<size_t>(64, known().entries() * kPassesAnAge / age_s + 1);
  for (size_t i = 0; i < share && !aged_.empty(); ++i) {
    const Bridges::Key key = aged_.front();
    aged_.pop_front();
    const auto bridge = carried_.find(key.bridge);
    const Bridges::Entry* const entry = known().find(key);
    if (bridge == carried_.end() || entry == nullptr || entry->fixed) continue;
    if (stations_->take_mark(key_of(key, bridge->second.index)))
      (void)linux_.hear_station(entry->port, key.vlan, key.mac);
  }
}

// ---- Ports and interfaces ----

std::shared_ptr<const BridgePortView> BridgeControl::view_of(int bridge, unsigned index, int port,
                                                             const Interface& interface) const {
  const Bridges::Port& of_linux = known().ports().at(port);
  const LinuxBridgePort& settings = *of_linux.link.bridge_port;
  auto view = std::make_shared<BridgePortView>();
  view->bridge = static_cast<uint8_t>(index);
  view->filters = known().bridges().at(bridge).link.bridge->filters_vlans;
  view->forwards = settings.forwards && routing_.interfaces().up(interface);
  view->learns = settings.learns;
  view->isolated = settings.isolated;
  view->hairpin = settings.hairpin;
  view->full = full_.contains(port);
  view->mtu = routing_.interfaces().mtu(interface);
  view->interface = interface.id;
  const Bridges::Vlans& vlans = known().vlans(port);
  view->pvid = vlans.pvid;
  view->allowed = vlans.allowed;
  view->untagged = vlans.untagged;
  for (const auto& [id, other] : interfaces_.table().all()) {
    if (other.port == interface.port && other.tags.vlan != 0 && !other.tags.service &&
        other.parent == kNoInterface)
      view->beside.set(other.tags.first());
    for (const Attachment& to : other.attached)
      if (to.port == interface.port) view->routed.set(to.vlan);
  }
  return view;
}

void BridgeControl::set_ports() {
  auto views = std::make_shared<BridgeViews>();
  views->stations = stations_;
  std::set<InterfaceId> bridged;
  for (const auto& [bridge, carried] : carried_)
    for (const auto& [port, id] : carried.ports) {
      const Interface* const interface = interfaces_.table().find(id);
      if (interface == nullptr) continue;
      views->ports[interface->port] = view_of(bridge, carried.index, port, *interface);
      bridged.insert(id);
    }
  for (const InterfaceId id : bridged_)
    if (!bridged.contains(id)) interfaces_.set_bridged(id, false);
  for (const InterfaceId id : bridged)
    if (!bridged_.contains(id)) interfaces_.set_bridged(id, true);
  bridged_ = std::move(bridged);
  plane_.set_bridges(carried_.empty() ? nullptr : std::move(views));
}

// br0 and VLAN devices on it are interfaces as long as it is switched here.
void BridgeControl::set_interfaces() {
  std::vector<InterfaceId> gone;
  for (const auto& [id, interface] : interfaces_.table().all())
    if (interface.bridge != 0 && !carried_.contains(interface.bridge)) gone.push_back(id);
  for (const InterfaceId id : gone) interfaces_.drop(id, "so is its bridge");
  for (const auto& [bridge, carried] : carried_) {
    const LinuxLink& link = known().bridges().at(bridge).link;
    interfaces_.adopt_bridge(link, routing_.interfaces().links_on(bridge));
    std::map<InterfaceId, std::vector<Attachment>> all;
    for (const auto& [id, interface] : interfaces_.table().all())
      if (interface.bridge == bridge) all[id] = attachments(bridge, carried, interface.tags.vlan);
    for (auto& [id, attached] : all) interfaces_.attach(id, std::move(attached));
  }
}

// By which ports, and with which tag, packets come in by the bridge's interface of this VLAN (0: the
// bridge's own).
std::vector<Attachment> BridgeControl::attachments(int bridge, const Carried& carried,
                                                   uint16_t vlan) const {
  const bool filters = known().bridges().at(bridge).link.bridge->filters_vlans;
  const Bridges::Vlans& own = known().vlans(bridge);
  std::vector<Attachment> all;
  for (const auto& [port, id] : carried.ports) {
    const Interface* const interface = interfaces_.table().find(id);
    if (interface == nullptr) continue;
    if (!filters) {
      all.push_back({interface->port, vlan});
      continue;
    }
    const Bridges::Vlans& vlans = known().vlans(port);
    for (uint16_t each = 1; each < vlans.allowed.size(); ++each) {
      if (!vlans.allowed[each] || !own.allowed[each]) continue;
      if ((own.untagged[each] ? 0 : each) != vlan) continue;
      all.push_back({interface->port, each});
      if (each == vlans.pvid) all.push_back({interface->port, 0});
    }
  }
  return all;
}

// ---- For the operator ----

std::vector<std::string> BridgeControl::lines() const {
  std::vector<std::string> lines;
  std::set<int> of_ours;
  for (const auto& [ifindex, port] : known().ports())
    if (interfaces_.table().by_ifindex(ifindex) != nullptr) of_ours.insert(port.bridge);
  for (const int bridge : of_ours) {
    if (carried_.contains(bridge) || !known().bridges().contains(bridge)) continue;
    std::string why = trouble_of(bridge);
    if (why.empty())
      why = no_memory_ ? "there is no memory for its stations (tables.bridge_stations)"
                       : "there are more bridges than are switched here";
    lines.push_back(fmt::format("bridge {}: its packets are Linux's, at its speed: {}",
                                known().bridges().at(bridge).link.name, why));
  }
  if (no_room_ > 0)
    lines.push_back(fmt::format(
        "bridges: {} stations found no room in the table; raise tables.bridge_stations", no_room_));
  return lines;
}

std::vector<BridgeStatus> BridgeControl::status() const {
  std::vector<BridgeStatus> all;
  for (const auto& [ifindex, bridge] : known().bridges()) {
    BridgeStatus status;
    status.ifindex = ifindex;
    status.name = bridge.link.name;
    status.mac = bridge.link.mac;
    status.up = bridge.link.up && bridge.link.carrier;
    status.mtu = bridge.link.mtu;
    status.filters_vlans = bridge.link.bridge->filters_vlans;
    if (!carried_.contains(ifindex)) {
      status.trouble = trouble_of(ifindex);
      if (status.trouble.empty()) status.trouble = "no port of it is one of the router's";
    }
    for (const auto& [index, port] : known().ports()) {
      if (port.bridge != ifindex) continue;
      const LinuxBridgePort& settings = *port.link.bridge_port;
      const size_t stations = known().entries_of(index);
      const Interface* const own = interfaces_.table().by_ifindex(index);
      const uint16_t mtu = own == nullptr ? uint16_t{0} : routing_.interfaces().mtu(*own);
      status.ports.push_back({port.link.name, settings.forwards, settings.learns,
                              full_.contains(index), stations, mtu,
                              own == nullptr ? kNoPort : own->port});
      status.stations += stations;
    }
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace hecto::router
