// Neighbors (ARP, ND) from Linux and from the configuration. Owned by the control thread.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "router/rib/interfaces.hpp"

namespace hecto::router {

struct Neighbor {
  IpAddress address;
  int ifindex = 0;                       // of Linux's neighbors
  InterfaceId interface = kNoInterface;  // of the configuration's
  MacAddress mac{};
  uint16_t state = 0;   // NUD_*; of the configuration's NUD_PERMANENT
  bool usable = false;  // `mac` is one to send to
  bool silent = false;  // did not answer when it was asked last: ECMP does without it

  bool configured() const { return interface != kNoInterface; }
  bool operator==(const Neighbor&) const = default;
};

class Neighbors {
 public:
  // True when the neighbor is new or something of it changed. Says itself which are silent: those
  // that Linux gave up on, until one answers; being asked again is no answer.
  bool set(const Neighbor& neighbor, uint16_t generation);
  bool remove(const Neighbor& neighbor);  // only the address and where count
  // Forgets what Linux did not confirm since `generation` began, and returns it.
  std::vector<Neighbor> sweep(uint16_t generation);

  // The one to send to by this interface; the configuration's before Linux's.
  const Neighbor* find(const InterfaceState& interface, const IpAddress& address) const;
  // All of one address, on whatever interface.
  std::vector<Neighbor> of_address(const IpAddress& address) const;
  // Those who have this MAC address, on whatever interface.
  std::vector<Neighbor> of_mac(const MacAddress& mac) const;
  // Calls visit(address) for every address inside the prefix that has a neighbor, in order.
  template <typename Visit>
  void visit_addresses(const IpPrefix& prefix, Visit visit) const {
    const IpAddress* last = nullptr;
    auto at = neighbors_.lower_bound(Key{prefix.address, kFirst});
    for (; at != neighbors_.end() && prefix.contains(at->first.address); ++at) {
      if (last == nullptr || *last != at->first.address) visit(at->first.address);
      last = &at->first.address;
    }
  }
  std::vector<Neighbor> all() const;
  std::map<uint16_t, size_t> states() const;  // how many are in which, NUD_*
  bool empty() const { return neighbors_.empty(); }
  size_t size() const { return neighbors_.size(); }

 private:
  struct Key {
    IpAddress address;
    int interface;  // the configuration's come first: -1 - InterfaceId; then Linux's: ifindex
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Neighbor neighbor;
    uint16_t generation = 0;
  };
  static constexpr int kFirst = -0x10000;
  static Key key(const Neighbor& neighbor);

  std::map<Key, Entry> neighbors_;
  std::set<std::pair<MacAddress, Key>> by_mac_;
};

}  // namespace hecto::router
