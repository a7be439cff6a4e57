// Linux's bridges as netlink tells of them: their ports, VLANs and forwarding database (FDB). Values
// only; which of it the fast path carries is BridgeControl's to decide. Owned by the control thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/rib/route.hpp"

namespace hecto::router {

class Bridges {
 public:
  struct Vlans {
    uint16_t pvid = 0;  // 0: what is untagged is dropped
    std::bitset<4096> allowed, untagged;
    bool operator==(const Vlans&) const = default;
  };
  struct Bridge {
    LinuxLink link;
    uint16_t generation = 0;
  };
  struct Port {
    int bridge = 0;
    LinuxLink link;
    uint16_t generation = 0;
  };
  struct Key {
    int bridge = 0;
    uint16_t vlan = 0;  // 0 where the bridge does not filter
    MacAddress mac{};
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    int port = 0;
    bool local = false, fixed = false;
    uint16_t generation = 0;
  };

  // What Linux says. True: something changed that switching or next hops depend on.
  bool set_link(const LinuxLink& link, uint16_t generation);
  bool remove_link(int ifindex);
  bool set_port(int ifindex, const LinuxBridgePort& port);
  bool set_vlans(const LinuxBridgeVlans& vlans, bool removed);
  bool set_entry(const LinuxFdbEntry& entry, uint16_t generation);
  bool remove_entry(const LinuxFdbEntry& entry);
  // VLANs that are not told again until sweep() are gone, and so is all of another generation.
  void resync_begin() { told_again_.emplace(); }
  bool sweep(uint16_t generation);  // entries that go are among the changes

  const std::map<int, Bridge>& bridges() const { return bridges_; }  // by ifindex
  const std::map<int, Port>& ports() const { return ports_; }        // by ifindex
  const Vlans& vlans(int ifindex) const;                             // of a bridge or a port
  const Entry* find(const Key& key) const;
  template <typename Visit>
  void visit(Visit visit) const {
    for (const auto& [key, entry] : fdb_) visit(key, entry);
  }
  size_t entries() const { return fdb_.size(); }
  size_t entries_of(int port) const;  // without local ones
  // Where a station is for what leaves by the bridge's interface of this VLAN (0: the bridge itself).
  struct Egress {
    int port = 0;       // its ifindex
    uint16_t vlan = 0;  // of the tag; 0: none
  };
  std::optional<Egress> egress(int bridge, uint16_t vlan, const MacAddress& station) const;

  // Another one whenever a bridge, a port or a VLAN changes.
  uint64_t version() const { return version_; }
  // Entries that came, moved or went since it was asked last.
  std::vector<Key> take_changes() { return std::exchange(changes_, {}); }

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };
  bool forget_entry(std::unordered_map<Key, Entry, KeyHash>::iterator at);

  std::map<int, Bridge> bridges_;
  std::map<int, Port> ports_;
  std::map<int, Vlans> vlans_;
  std::optional<std::map<int, Vlans>> told_again_;  // during a resync
  std::unordered_map<Key, Entry, KeyHash> fdb_;
  std::map<int, size_t> counts_;  // by port, without local ones
  std::vector<Key> changes_;
  uint64_t version_ = 0;
};

}  // namespace hecto::router
