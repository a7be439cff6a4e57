#include "config/file/interface_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <tuple>

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

// By interface, 0: in no VRF.
std::map<std::string, uint32_t, std::less<>> vrf_tables(const Config& config) {
  std::map<std::string, uint32_t, std::less<>> tables;
  for (const PortConfig& port : config.ports) {
    tables[port.name] = port.vrf_table;
    for (const VlanConfig& vlan : port.vlans)
      tables[interface_name(port.name, vlan)] = vlan.vrf_table;
  }
  return tables;
}

// The networks of the interfaces of one VRF, or of none, for "which interface holds this address".
class Networks {
 public:
  void add(const IpPrefix& address, const std::string& interface) {
    by_network_.emplace(address.network(), interface);
    own_.insert(address.address);
    lengths_[family_index(address.address)].set(address.length);
  }
  bool has_own(const IpAddress& address) const { return own_.contains(address); }

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
  std::set<IpAddress> own_;
  std::bitset<129> lengths_[2];
};

using NetworksByVrf = std::map<uint32_t, Networks>;

// The interfaces whose networks hold a neighbor: of each VRF one.
std::vector<std::string> holders(const NetworksByVrf& networks, const IpAddress& address) {
  std::vector<std::string> found;
  for (const auto& [vrf_table, of] : networks)
    if (const std::string* interface = of.find(address); interface != nullptr)
      found.push_back(*interface);
  return found;
}

}  // namespace

// Two interfaces of one VRF, or of none, with overlapping networks leave it open where a neighbor is.
// In the order of VRF, network and length what holds a network comes before it, so a stack of the
// networks that are still open finds every overlap.
void check_addresses(Loading& loading) {
  std::vector<const AddressUse*> sorted;
  for (const AddressUse& use : loading.addresses) sorted.push_back(&use);
  std::stable_sort(sorted.begin(), sorted.end(), [](const AddressUse* a, const AddressUse* b) {
    return std::tuple(a->vrf_table, a->prefix.network().address, a->prefix.length) <
           std::tuple(b->vrf_table, b->prefix.network().address, b->prefix.length);
  });
  std::set<std::pair<std::string, IpAddress>> own;
  std::vector<const AddressUse*> open;
  for (const AddressUse* use : sorted) {
    if (!own.emplace(use->interface, use->prefix.address).second) {
      use->value.refuse("is on this interface twice; name it once");
      continue;
    }
    if (is_link_local(use->prefix)) continue;  // RFC 4007 §6: each link is a zone of its own
    while (!open.empty() && !(open.back()->vrf_table == use->vrf_table &&
                              open.back()->prefix.length <= use->prefix.length &&
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
  const auto vrfs = vrf_tables(config);
  NetworksByVrf networks;
  for (const AddressUse& use : loading.addresses) {
    if (is_link_local(use.prefix)) continue;
    networks[use.vrf_table].add(use.prefix, use.interface);
  }
  std::set<std::pair<std::string, IpAddress>> neighbors;
  for (const InterfaceUse& use : loading.interface_uses) {
    std::string interface = use.interface;
    const auto named = vrfs.find(interface);
    const bool anywhere = use.is_neighbor && interface.empty();
    const std::vector<std::string> found =
        anywhere ? holders(networks, use.address) : std::vector<std::string>();
    if (found.size() > 1) {
      use.value.refuse(
          fmt::format("is on the networks of {}, in VRFs of their own; name its "
                      "interface",
                      fmt::join(found, " and ")));
      continue;
    }
    if (!found.empty()) interface = found.front();
    const auto on = vrfs.find(interface);
    const Networks& of = networks[on == vrfs.end() ? use.vrf_table : on->second];
    if (of.has_own(use.address)) {
      use.value.refuse("is this router's own address; use the neighbor's");
      continue;
    }
    if (!interface.empty() && named == vrfs.end() && !anywhere) {
      use.value.complain(
          fmt::format("interface {} is neither a port nor PORT.ID of this file; use one of them",
                      interface.substr(0, 32)));
      continue;
    }
    if (interface.empty())
      if (const std::string* holder = of.find(use.address); holder != nullptr) interface = *holder;
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
