// Policies: as control hears of them from Linux, the file and the API (IpsecPolicy), and as workers
// use them (esp::Policy).
//
// Source: RFC 4301 §4.4.1 (SPD), linux/xfrm.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>

#include "base/net.hpp"
#include "router/ipsec/esp/selector.hpp"

namespace hecto::router {

struct PolicyTemplate {           // XFRM's tmpl: what protects the packet
  IpAddress source, destination;  // outer; unspecified (all zero) in transport mode
  uint32_t reqid = 0;
  Spi spi = 0;  // 0: any
  IpsecMode mode = IpsecMode::kTunnel;
  bool optional = false;  // XFRM level "use": let in without
  bool operator==(const PolicyTemplate&) const = default;
};

struct IpsecPolicy {
  PolicyDirection direction = PolicyDirection::kOut;
  IpsecSelector selector;
  RouteOrigin origin = RouteOrigin::kLinux;
  PolicyAction action = PolicyAction::kProtect;
  uint32_t priority = 0;  // lower wins, as in Linux; then the older
  uint32_t index = 0;     // Linux's; 0: none
  uint32_t if_id = 0;
  std::optional<PolicyTemplate> protection;  // of kProtect
  bool operator==(const IpsecPolicy&) const = default;
};

// "out 10.1.0.0/16 -> 10.2.0.0/16 protocol 6 port 1:443", as messages name a policy.
std::string to_string(const IpsecPolicy& policy);

}  // namespace hecto::router

namespace hecto::router::esp {

class Sa;

// What workers need of a policy, of IPv4 in one cache line: found, counted and obeyed by a single
// read.
struct alignas(64) Policy {
  // Together in huge pages. Throws std::bad_alloc.
  static void* operator new(size_t bytes, std::align_val_t);
  static void operator delete(void* memory, std::align_val_t) noexcept;

  std::atomic<Sa*> sa{nullptr};  // outbound: what protects it now; null: none yet (no_sa)
  mutable std::atomic<uint64_t> packets{0};  // written by workers, relaxed
  uint64_t serial = 0;                       // of two with one priority the older is better
  uint32_t priority = 0;
  uint32_t reqid = 0;  // inbound: the SA's must be this (0: any)
  PolicyAction action = PolicyAction::kBypass;
  IpsecMode mode = IpsecMode::kTunnel;
  bool optional = false;          // inbound: may also come unprotected
  bool left_out = false;          // stands for those that found no room, of any if_id
  std::array<uint64_t, 6> key{};  // the Spd's: what its packets are known by; IPv4: three words

  uint32_t if_id = 0;  // a packet's must be the same, as in Linux
  IpsecSelector selector;
  Policy* shadowed = nullptr;  // the Spd's: the next best of the same selector
};
static_assert(offsetof(Policy, key) + 3 * sizeof(uint64_t) == 64);

}  // namespace hecto::router::esp
