#include "router/control/flow_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/control/notes.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using config::FlowConfig;

tl::unexpected<Error> flows_off() {
  return fail("flows: the flow table is off; name interfaces under `flows` in the file", ENOENT);
}

// What leaves by it, but for the destination and the last type.
FlowOutput output_of(const Interface& interface, uint16_t mtu) {
  FlowOutput out;
  out.present = interface.port != kNoPort;
  out.port = interface.port;
  out.interface = interface.id;
  out.mtu = mtu;
  std::memcpy(out.header + 6, interface.mac.data(), interface.mac.size());
  uint8_t* at = out.header + 12;
  const auto tag = [&](uint16_t type, uint16_t vlan) {
    std::memcpy(at, &type, 2);
    store16_be(at + 2, vlan);
    at += kVlanTagBytes;
  };
  const VlanTags& tags = interface.tags;
  if (tags.count() > 0) tag(tags.service ? kEtherServiceVlan : kEtherVlan, tags.first());
  if (tags.count() > 1) tag(kEtherVlan, tags.vlan);
  out.header_length = static_cast<uint8_t>(kEthernetBytes + tags.count() * kVlanTagBytes);
  return out;
}

}  // namespace

void FlowControl::follow(const config::FlowsConfig& wanted) {
  const uint64_t version = routing_.interfaces().version();
  if (!changed_ && wanted == config_ && version == interfaces_version_) return;
  const bool other_size = wanted.entries != config_.entries;
  config_ = wanted;
  interfaces_version_ = version;
  if (!config_.on() || other_size) tables_.reset();
  if (config_.on() && !tables_) make_tables();
  plane_.set_flows(tables_ ? view() : nullptr);
  changed_ = false;  // also of what view() has named
}

void FlowControl::make_tables() {
  auto made = plane_.make_flow_tables(config_.entries);
  if (!made) {
    notes_.add(made.error().message + "; the flow table is off");
    return;
  }
  if (!mark_) {
    auto mark = register_filter_mark();
    if (!mark) notes_.add("flows: marks are neither given nor seen: " + mark.error().message);
    mark_ = mark.value_or(FilterMark());
  }
  tables_ = std::move(*made);
  ++generation_;
  tables_->set_now(now_s_);
  tables_->watch([this, tables = tables_.get()](const FlowId& id) {
    if (gone_) gone_(*tables, id);
  });
}

std::shared_ptr<FlowView> FlowControl::view() {
  auto view = std::make_shared<FlowView>();
  view->tables = tables_;
  view->mark = *mark_;
  const bool routes = config_.miss == config::kMissRoute, drops = config_.miss == config::kMissDrop;
  view->miss.verdict = routes  ? FlowVerdict::kAccept
                       : drops ? FlowVerdict::kDrop
                               : FlowVerdict::kOutput;
  if (!routes && !drops) view->miss.output = place_of(config_.miss);
  for (const std::string& name : config_.interfaces)
    if (const Interface* interface = interfaces_.find(name)) view->on.set(interface->id);
  // All that there may be: a worker may see an entry before it has the view that was made for it.
  view->outputs.resize(kMostFlowPlaces);
  for (const auto& [name, place] : places_) {
    const Interface* const interface = interfaces_.find(name);
    if (interface == nullptr) continue;
    view->places[interface->id] = place;
    view->outputs[place] = output_of(*interface, routing_.interfaces().mtu(*interface));
  }
  return view;
}

void FlowControl::tick(uint32_t now_s) {
  now_s_ = now_s;
  if (!tables_) return;
  tables_->set_now(now_s);
  const auto end = std::chrono::steady_clock::now() + kMostExpiry;
  tables_->expire([&] { return std::chrono::steady_clock::now() < end; });
  tables_->reclaim();
}

FlowPlace FlowControl::place_of(const std::string& interface) {
  const auto found = places_.find(interface);
  if (found != places_.end()) return found->second;
  if (names_.size() == kMostFlowPlaces) return 0;
  const auto place = static_cast<FlowPlace>(names_.size());
  names_.push_back(interface);
  places_.emplace(interface, place);
  changed_ = true;  // workers must know it before an entry names it
  return place;
}

Result<FlowPlace> FlowControl::place_of_interface(const std::string& name) {
  const Interface* const interface = interfaces_.find(name);
  if (interface == nullptr)
    return fail(
        fmt::format("there is no interface {}; use a port, PORT.ID or PORT.OUTER.ID", name));
  if (interface->port == kNoPort)
    return fail(
        fmt::format("{} is a bridge's interface, which has no port of its own; use a port", name));
  const FlowPlace place = place_of(name);
  if (place == 0)
    return fail(
        fmt::format("entries have named {} interfaces since the start, and there is no room "
                    "for more names; restart hectod",
                    kMostFlowPlaces - 1));
  return place;
}

Result<FlowOrder> FlowControl::compile(const FlowConfig& flow) {
  return compile_flow(flow, [this](const std::string& name) { return place_of_interface(name); });
}

Result<void> FlowControl::add(std::span<const FlowConfig> flows, size_t* which) {
  if (!tables_) return flows_off();
  std::vector<FlowOrder> orders;
  orders.reserve(flows.size());
  for (size_t i = 0; i < flows.size(); ++i) {
    auto order = compile(flows[i]);
    if (!order) {
      *which = i;
      return tl::unexpected(order.error());
    }
    orders.push_back(std::move(*order));
  }
  // New names: workers that see an entry of theirs have them.
  if (changed_) {
    changed_ = false;
    plane_.set_flows(view());
    plane_.publish();
  }
  return tables_->set(orders, which);
}

Result<void> FlowControl::erase(std::span<const FlowConfig> flows, size_t* which) {
  if (!tables_) return flows_off();
  std::vector<FlowId> found;
  for (size_t i = 0; i < flows.size(); ++i) {
    *which = i;
    const auto order = compile(flows[i]);
    if (!order) return tl::unexpected(order.error());
    const auto id = tables_->find(*order);
    if (!id) return fail("flows: there is no entry of this match", ENOENT);
    const uint32_t priority = tables_->status(*id).priority;
    if (flows[i].priority_given && flows[i].priority != priority)
      return fail(
          fmt::format("flows: the entry of this match has priority {}; leave priority out, or "
                      "use that",
                      priority),
          ENOENT);
    if (std::find(found.begin(), found.end(), *id) == found.end()) found.push_back(*id);
  }
  for (const FlowId& id : found) tables_->erase(id);
  tables_->commit();
  return {};
}

Result<size_t> FlowControl::erase_all() {
  if (!tables_) return flows_off();
  return tables_->erase_all();
}

FlowConfig FlowControl::describe(const FlowTables::Status& status) const {
  return describe_flow(status, [this](FlowPlace place) { return names_[place]; });
}

}  // namespace hecto::router
