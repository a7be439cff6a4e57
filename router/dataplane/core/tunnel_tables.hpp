// Tunnels over IP as workers see them: by interface how packets go in, and by outer addresses, protocol
// and key which one they come out of. Made by control, immutable, of a snapshot; docs/tunnels.md.
//
// Source: RFC 2784, 2890 (GRE), 2003, 4213, 2473 (IP in IP).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/net.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

inline constexpr uint8_t kProtocolIpv4 = 4, kProtocolIpv6 = 41, kProtocolGre = 47,
                         kProtocolOptions6 = 60;
inline constexpr unsigned kMostNestedTunnels = 4;
inline constexpr unsigned kMostOuterBytes = 56;  // IPv6, an encapsulation limit, GRE with key

// What control says of a tunnel.
struct TunnelSetup {
  InterfaceId interface = kNoInterface;
  InterfaceId link = kNoInterface;  // by which its packets leave; kNoInterface: by their route
  LinuxTunnel tunnel;
  bool operator==(const TunnelSetup&) const = default;
};

// How packets go into it.
struct TunnelView {
  InterfaceId interface = kNoInterface;
  InterfaceId link = kNoInterface;
  bool outer6 = false, gre = false;
  bool carries4 = false, carries6 = false;
  bool sets_df = false, inherits_tos = false, has_label = false;
  uint8_t ttl = 0, tos = 0;
  uint8_t bytes = 0;        // of `header`
  uint8_t protocol_at = 0;  // in it: GRE's two bytes of EtherType; else one of protocol, but IPv4's
  // IPv4's without length, identification, flags, TTL, protocol, TOS and checksum: `sum` is of the rest.
  std::array<uint8_t, kMostOuterBytes> header{};
  uint32_t sum = 0;
  uint32_t remote4 = 0;  // host order
  lookup::Ipv6Address remote6{};
};

// By what an outer packet names its tunnel. Our side is `local`.
struct TunnelKey {
  enum class Kind : uint8_t { kGre, kGreWithKey, kIpv4, kIpv6, kGreEnds };
  uint64_t words[5] = {};

  bool operator==(const TunnelKey&) const noexcept = default;
  uint64_t hash() const noexcept {
    uint64_t hash = 0;
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash;
  }
  static TunnelKey of4(const uint8_t* local, const uint8_t* remote, Kind kind,
                       uint32_t key) noexcept {
    return {{load32_native(local), 0, load32_native(remote), 0, tail(kind, 4, key)}};
  }
  static TunnelKey of6(const uint8_t* local, const uint8_t* remote, Kind kind,
                       uint32_t key) noexcept {
    return {{load64_native(local), load64_native(local + 8), load64_native(remote),
             load64_native(remote + 8), tail(kind, 6, key)}};
  }

 private:
  static uint64_t tail(Kind kind, unsigned version, uint32_t key) noexcept {
    return uint64_t{key} << 32 | version << 8 | static_cast<unsigned>(kind);
  }
};

class TunnelTables {
 public:
  // Those that are up. `gre_is_known`: what GRE finds no tunnel here between ends that have some is
  // nobody's. `flag`: of ol_flags, free for marks while a chunk is under way.
  TunnelTables(std::span<const TunnelSetup> tunnels, bool gre_is_known, uint64_t flag);

  // Null: it is no tunnel.
  const TunnelView* of(InterfaceId interface) const noexcept {
    if (interface >= kMaxInterfaces || by_interface_[interface] == 0) return nullptr;
    return &views_[by_interface_[interface] - 1u];
  }
  const TunnelView* find(const TunnelKey& key) const noexcept {
    for (uint64_t at = key.hash() & mask_;; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.place == 0) return nullptr;
      if (entry.key == key) return &views_[entry.place - 1u];
    }
  }
  uint64_t flag() const noexcept { return flag_; }
  size_t size() const noexcept { return views_.size(); }

 private:
  struct Entry {
    TunnelKey key;
    uint32_t place = 0;  // in views_, from 1; 0: free
  };
  void put(const TunnelKey& key, uint32_t place);

  std::vector<TunnelView> views_;
  std::array<uint16_t, kMaxInterfaces> by_interface_{};  // in views_, from 1
  std::vector<Entry> entries_;  // a power of two, at most half of them used
  uint64_t mask_ = 0;
  uint64_t flag_ = 0;
};

// What stands before a packet that goes in.
TunnelView tunnel_view(const TunnelSetup& setup);

}  // namespace hecto::router
