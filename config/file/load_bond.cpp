#include "config/file/load_bond.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/file/keys.hpp"
#include "config/file/load_ports.hpp"

namespace hecto::config {
namespace {

void read_members(const Value& value, BondConfig& bond) {
  const Range& right = bond_keys["members"].range;
  const std::vector<Value> items = value.items("a list of devices, as [eth1, eth2]");
  if (items.size() < right.low || items.size() > right.high) {
    value.complain(fmt::format("{} members; use {} to {}", items.size(), right.low, right.high));
    return;
  }
  for (const Value& item : items) {
    PortConfig device;
    read_device(item, device);
    if (device.device.empty()) continue;
    if (device.kind == DeviceKind::kVdev) {
      item.refuse("is a DPDK vdev; a member is a PCI address or a kernel interface");
      continue;
    }
    const BondMember member{device.device, device.kind};
    if (std::find(bond.members.begin(), bond.members.end(), member) != bond.members.end())
      item.refuse("is a member twice; name it once");
    else
      bond.members.push_back(member);
  }
}

void check_primary(const Value& value, BondConfig& bond) {
  PortConfig device;  // 17:00.0 is 0000:17:00.0
  read_device(value, device);
  bond.primary = device.device;
  if (std::none_of(bond.members.begin(), bond.members.end(),
                   [&](const BondMember& member) { return member.device == bond.primary; }))
    value.refuse("is no member; use one of " + members_text(bond));
}

}  // namespace

bool belongs(std::string_view key, BondMode mode) noexcept {
  if (key == "hash") return mode == BondMode::kLacp || mode == BondMode::kBalanceXor;
  if (key == "lacp_rate") return mode == BondMode::kLacp;
  if (key == "primary") return mode == BondMode::kActiveBackup;
  return true;
}

std::vector<PortConfig> parts_of(const PortConfig& port) {
  if (!port.bond) return {port};
  std::vector<PortConfig> parts;
  for (const BondMember& member : port.bond->members) {
    PortConfig part = port;
    part.bond.reset();
    part.device = member.device;
    part.kind = member.kind;
    parts.push_back(std::move(part));
  }
  return parts;
}

void read_bond(const Value& value, PortConfig& port) {
  port.kind = DeviceKind::kBond;
  BondConfig& bond = port.bond.emplace();
  Fields fields(value, bond_keys.names, "a map, as {mode: lacp, members: [eth1, eth2]}");
  read_keys(fields, bond_keys, bond,
            {{"members", [&](const Value& members) { read_members(members, bond); }},
             {"primary", [&](const Value& primary) { check_primary(primary, bond); }}});
  for (const std::string_view key : {"hash", "lacp_rate", "primary"})
    if (const Value* given = fields.get(key); given != nullptr && !belongs(key, bond.mode))
      given->complain(fmt::format("says nothing with mode {}; take it out", to_string(bond.mode)));
  if (const Value* least = fields.get("min_links");
      least != nullptr && !bond.members.empty() && bond.min_links > bond.members.size())
    least->refuse(fmt::format("is above the {} there are of members", bond.members.size()));
}

}  // namespace hecto::config
