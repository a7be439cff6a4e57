// The half of NextHopSets that turns sets into records and buckets of the next-hop table.
#include <algorithm>
#include <cstring>

#include "router/rib/next_hop_sets.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

constexpr uint16_t kVlanEtherType = 0x8100;
constexpr uint16_t kIpv4EtherType = 0x0800;
constexpr uint16_t kIpv6EtherType = 0x86dd;

NextHopRecord verdict(RecordKind kind, Reason reason) {
  NextHopRecord record{};
  record.kind = kind;
  record.reason = static_cast<uint8_t>(reason);
  return record;
}

NextHopSets::Resolution dead() {
  NextHopSets::Resolution resolution;
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

uint8_t* put16(uint8_t* out, uint16_t value) {
  *out++ = static_cast<uint8_t>(value >> 8);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Destination, source, [802.1Q tag,] EtherType.
void put_header(NextHopRecord& record, const InterfaceState& interface, const MacAddress& to,
                Family family) {
  uint8_t* out = std::copy(to.begin(), to.end(), record.header);
  out = std::copy(interface.mac.begin(), interface.mac.end(), out);
  if (interface.vlan != 0) {
    out = put16(out, kVlanEtherType);
    out = put16(out, interface.vlan);  // priority 0
  }
  out = put16(out, family == Family::kIpv4 ? kIpv4EtherType : kIpv6EtherType);
  record.header_length = static_cast<uint8_t>(out - record.header);
}

}  // namespace

NextHopSets::Resolution NextHopSets::resolve(const Set& set) const {
  Resolution resolution;
  if (set.type == RouteType::kUnicast) {
    if (set.object == 0 && set.next_hops.size() == 1) return resolve(set.next_hops[0], set.family);
    const NextHopObject* object = this->object(set.object);
    if (object != nullptr && object->blackhole) {
      resolution.record = verdict(RecordKind::kDrop, Reason::kBlackhole);
      return resolution;
    }
    if (object != nullptr && object->next_hop) return resolve(*object->next_hop, set.family);
    // The kernel forgets an object's routes without a word (the mirror reads them again): until
    // then Linux decides.
    resolution.alive = false;
  }
  resolution.record = verdict(set.type);
  return resolution;
}

NextHopSets::Resolution NextHopSets::resolve(const NextHop& hop, Family family) const {
  if (hop.dead) return dead();
  Resolution resolution;
  InterfaceId id = hop.interface;
  if (hop.ifindex != 0) {
    InterfaceId twin = interfaces_.by_ifindex(hop.ifindex);
    if (twin != kNoInterface) id = twin;
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
  return interface == nullptr ? dead() : resolve_on(*interface, hop, family);
}

NextHopSets::Resolution NextHopSets::resolve_on(const InterfaceState& interface, const NextHop& hop,
                                                Family family) const {
  Resolution resolution = interfaces_.up(interface) ? Resolution{} : dead();
  resolution.interface = interface.id;
  resolution.gateway = hop.gateway;
  resolution.reachable_by.set(interface.id).set(kUrpfAnyBit);
  if (!resolution.alive) return resolution;
  const Neighbor* neighbor = hop.gateway ? neighbors_.find(interface, *hop.gateway) : nullptr;
  if (neighbor == nullptr || !neighbor->usable) {
    resolution.record = verdict(RecordKind::kPunt, Reason::kGlean);
    return resolution;
  }
  NextHopRecord& record = resolution.record;
  record.kind = RecordKind::kForward;
  put_header(record, interface, neighbor->mac, family);
  record.port = interface.port;
  record.interface = interface.id;
  record.mtu = interfaces_.mtu(interface);
  return resolution;
}

// The members that a set should have, each with a reference taken.
std::vector<NextHopSets::Member> NextHopSets::wanted_members(const Set& set) {
  std::vector<Member> members;
  if (set.type != RouteType::kUnicast) return members;
  if (set.object == 0) {
    if (set.next_hops.size() < 2) return members;
    for (const NextHop& hop : set.next_hops) {
      NextHop single = hop;
      single.weight = 1;
      single.dead = false;
      SetId id = acquire({set.family, RouteType::kUnicast, 0, {&single, 1}});
      members.push_back({id, hop.weight, hop.dead});
    }
    return members;
  }
  const NextHopObject* object = this->object(set.object);
  if (object == nullptr) return members;
  for (const NextHopObject::Member& member : object->members) {
    const NextHopObject* inner = this->object(member.id);
    if (member.id == 0 || (inner != nullptr && !inner->members.empty())) continue;  // no nesting
    SetId id = acquire({set.family, RouteType::kUnicast, member.id, {}});
    members.push_back({id, std::clamp<uint16_t>(member.weight, 1, 256), false});
  }
  return members;
}

// Members that are dead or down are left out as long as another one lives.
std::vector<lookup::WeightedMember> NextHopSets::live_members(const Set& set) const {
  std::vector<lookup::WeightedMember> live;
  for (bool all : {false, true}) {
    for (const Member& member : set.members) {
      const Set& single = sets_[member.set];
      if (single.group == lookup::kNoRoute) continue;
      if (!all && (member.dead || !single.now.alive)) continue;
      auto same = std::find_if(live.begin(), live.end(),
                               [&](const auto& other) { return other.group == single.group; });
      if (same == live.end()) {
        live.push_back({single.group, member.weight});
      } else {
        same->weight = static_cast<uint16_t>(std::min(256, same->weight + member.weight));
      }
    }
    if (!live.empty()) break;
  }
  return live;
}

UrpfInterfaces NextHopSets::reachable_by(const Set& set) const {
  UrpfInterfaces interfaces = set.now.reachable_by;
  for (const Member& member : set.members) interfaces |= sets_[member.set].now.reachable_by;
  return interfaces;
}

bool NextHopSets::allocate_group(Set& set) {
  auto group = table_.allocate();
  if (!group) return false;
  set.group = *group;
  --without_group_;
  by_group_.emplace(*group, set.self);
  return true;
}

// Brings the group up to what the set says now; what the table refuses is tried again by retry().
void NextHopSets::write(Set& set) {
  if (!set.members.empty() && set.group == lookup::kNoRoute && live_members(set).empty()) return;
  if (set.group == lookup::kNoRoute && !allocate_group(set)) {
    groups_refused_ += !std::exchange(set.refused, true);
    return;
  }
  urpf_.set(set.group, reachable_by(set));
  auto write_once = [&] { return set.members.empty() ? write_record(set) : write_members(set); };
  auto written = write_once();
  if (!written) {
    table_.reclaim();
    written = write_once();
  }
  bool left_out = std::any_of(set.members.begin(), set.members.end(), [this](const Member& member) {
    return sets_[member.set].group == lookup::kNoRoute;
  });
  dirty_ -= set.dirty;
  set.dirty = !written || left_out;
  dirty_ += set.dirty;
  if (!written) return;
  for (SetId member : std::exchange(set.retired, {})) release(member);
}

tl::expected<void, lookup::Error> NextHopSets::write_record(Set& set) {
  set.live.clear();
  NextHopRecord in_table = table_.get(set.group);
  if (std::memcmp(&in_table, &set.now.record, sizeof(in_table)) == 0) return {};
  auto written = table_.set(set.group, set.now.record);
  records_written_ += written.has_value();
  return written;
}

tl::expected<void, lookup::Error> NextHopSets::write_members(Set& set) {
  std::vector<lookup::WeightedMember> live = live_members(set);
  auto same = [](const lookup::WeightedMember& a, const lookup::WeightedMember& b) {
    return a.group == b.group && a.weight == b.weight;
  };
  if (std::equal(live.begin(), live.end(), set.live.begin(), set.live.end(), same)) return {};
  if (live.empty()) return {};
  auto written = table_.set_members(set.group, live);
  if (written) set.live = std::move(live);
  records_written_ += written.has_value();
  return written;
}

bool NextHopSets::retry() {
  if (without_group_ == 0 && dirty_ == 0) return false;
  bool found_group = false;
  bool none_left = false;
  for (bool several : {false, true}) {
    for (SetId id = 0; id < sets_.size(); ++id) {
      Set& set = sets_[id];
      if (set.references == 0 || set.members.empty() == several) continue;
      bool without_group = set.group == lookup::kNoRoute;
      if (without_group ? none_left : !set.dirty) continue;
      refresh(id);
      found_group |= without_group && set.group != lookup::kNoRoute;
      // Of several next hops one may lack a group, which says nothing of the others.
      none_left |= !several && set.group == lookup::kNoRoute;
    }
  }
  return found_group;
}

const NextHopObject* NextHopSets::object(uint32_t id) const {
  auto found = id == 0 ? objects_.end() : objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second.value;
}

bool NextHopSets::set_object(const NextHopObject& object, uint16_t generation) {
  auto [found, fresh] = objects_.try_emplace(object.id);
  found->second.generation = generation;
  if (!fresh && found->second.value == object) return false;
  found->second.value = object;
  // A group is no member of a group: those that hold it must let go of it first.
  if (!object.members.empty()) refresh_users_of_object(object.id);
  refresh_object(object.id);
  refresh_users_of_object(object.id);
  return true;
}

void NextHopSets::remove_object(uint32_t id) {
  if (objects_.erase(id) == 0) return;
  refresh_object(id);
  refresh_users_of_object(id);
}

void NextHopSets::sweep_objects(uint16_t generation) {
  std::vector<uint32_t> gone;
  for (const auto& [id, object] : objects_) {
    if (object.generation != generation) gone.push_back(id);
  }
  for (uint32_t id : gone) remove_object(id);
}

void NextHopSets::refresh_object(uint32_t object) {
  for (Family family : {Family::kIpv4, Family::kIpv6}) {
    Content content{family, RouteType::kUnicast, object, {}};
    if (SetId id = find(content); id != kNoSet) refresh(id);
  }
}

// Sets of object groups that name this object now.
void NextHopSets::refresh_users_of_object(uint32_t object) {
  for (SetId id = 0; id < sets_.size(); ++id) {
    if (sets_[id].references == 0 || sets_[id].object == 0) continue;
    const NextHopObject* group = this->object(sets_[id].object);
    if (group == nullptr) continue;
    bool names = std::any_of(group->members.begin(), group->members.end(),
                             [object](const auto& member) { return member.id == object; });
    if (names) refresh(id);
  }
}

}  // namespace hecto::router
