#include "config/file/interface_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <set>

namespace hecto::config {
namespace {

using lookup::Family;

bool is_link_local(const IpPrefix& prefix) {
  return prefix.address.family == Family::kIpv6 && prefix.address.bytes[0] == 0xfe &&
         (prefix.address.bytes[1] & 0xc0) == 0x80;
}

size_t family_index(const IpAddress& address) {
  return address.family == Family::kIpv4 ? 0 : 1;
}

std::set<std::string, std::less<>> interface_names(const Config& config) {
  std::set<std::string, std::less<>> names;
  for (const PortConfig& port : config.ports) {
    names.insert(port.name);
    for (const VlanConfig& vlan : port.vlans)
      names.insert(fmt::format("{}.{}", port.name, vlan.id));
  }
  return names;
}

// The networks of the interfaces, for "which interface holds this address".
class Networks {
 public:
  void add(const IpPrefix& address, const std::string& interface) {
    by_network_.emplace(address.network(), interface);
    lengths_[family_index(address.address)].set(address.length);
  }

  // Of the longest network that holds the address; null when none does.
  const std::string* find(const IpAddress& address) const {
    const auto& lengths = lengths_[family_index(address)];
    for (int length = static_cast<int>(address.size()) * 8; length >= 0; --length) {
      if (!lengths.test(static_cast<size_t>(length))) continue;
      auto found = by_network_.find(IpPrefix{address, static_cast<uint8_t>(length)}.network());
      if (found != by_network_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  std::map<IpPrefix, std::string> by_network_;
  std::bitset<129> lengths_[2];
};

}  // namespace

// Two interfaces with overlapping networks leave it open where a neighbor is. In the order of
// network and length what holds a network comes before it, so a stack of the networks that are
// still open finds every overlap.
void check_addresses(Loading& loading) {
  std::vector<const AddressUse*> sorted;
  for (const AddressUse& use : loading.addresses) sorted.push_back(&use);
  std::stable_sort(sorted.begin(), sorted.end(), [](const AddressUse* a, const AddressUse* b) {
    return std::pair(a->prefix.network().address, a->prefix.length) <
           std::pair(b->prefix.network().address, b->prefix.length);
  });
  std::set<std::pair<std::string, IpAddress>> own;
  std::vector<const AddressUse*> open;
  for (const AddressUse* use : sorted) {
    if (!own.emplace(use->interface, use->prefix.address).second) {
      use->value.refuse("is on this interface twice; name it once");
      continue;
    }
    if (is_link_local(use->prefix)) continue;  // RFC 4007 §6: each link is a zone of its own
    while (!open.empty() && !(open.back()->prefix.length <= use->prefix.length &&
                              open.back()->prefix.network().contains(use->prefix.address)))
      open.pop_back();
    for (const AddressUse* outer : open) {
      if (outer->interface == use->interface) continue;
      use->value.refuse(fmt::format("overlaps with {} of {} on line {}; use another network",
                                    outer->prefix.to_string(), outer->interface,
                                    outer->value.line()));
      break;
    }
    if (open.empty() || open.back()->interface != use->interface) open.push_back(use);
  }
}

// Of a router that runs, with addresses mirrored from Linux, the file does not know all networks, and
// a gateway that is on none of them is no mistake. One that starts has the file's alone.
void check_interface_uses(Loading& loading) {
  Config& config = loading.config;
  bool addresses_known =
      !loading.limits.running || !config.linux_side.enabled || !config.linux_side.mirror_addresses;
  auto names = interface_names(config);
  Networks networks;
  std::set<IpAddress> own;
  for (const AddressUse& use : loading.addresses) {
    if (is_link_local(use.prefix)) continue;
    networks.add(use.prefix, use.interface);
    own.insert(use.prefix.address);
  }
  std::set<std::pair<std::string, IpAddress>> neighbors;
  for (const InterfaceUse& use : loading.interface_uses) {
    if (own.contains(use.address)) {
      use.value.refuse("is this router's own address; use the neighbor's");
      continue;
    }
    std::string interface = use.interface;
    if (!interface.empty() && !names.contains(interface)) {
      use.value.complain(
          fmt::format("interface {} is neither a port nor PORT.ID of this file; use one of them",
                      interface.substr(0, 32)));
      continue;
    }
    const std::string* found = interface.empty() ? networks.find(use.address) : nullptr;
    if (found != nullptr) interface = *found;
    if (interface.empty() && (use.is_neighbor || addresses_known)) {
      use.value.refuse("is on no interface's network; name its interface, or add an address");
      continue;
    }
    if (!use.is_neighbor) continue;
    config.neighbors[use.index].interface = interface;
    if (!neighbors.emplace(interface, use.address).second)
      use.value.refuse(fmt::format("is on {} twice; name it once", interface));
  }
}

}  // namespace hecto::config
