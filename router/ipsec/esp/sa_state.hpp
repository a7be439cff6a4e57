// Security associations and policies as control hears of them: from Linux (XFRM by netlink), the
// file and the API. Values only; owned by the control thread.
//
// Source: RFC 4301 (SPD, SAD), RFC 4303 (ESP), RFC 3948 (UDP encapsulation), linux/xfrm.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "lookup/prefix.hpp"
#include "router/ipsec/esp/transform.hpp"

namespace hecto::router {

using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

// What a packet must look like. A prefix of length 0 and a mask of 0 fit everything.
struct IpsecSelector {
  Family family = Family::kIpv4;  // of source and destination
  IpPrefix source, destination;
  uint8_t protocol = 0;  // 0: any
  uint16_t source_port = 0, source_port_mask = 0;
  uint16_t destination_port = 0, destination_port_mask = 0;  // ICMP: type and code stand in ports
  bool operator==(const IpsecSelector&) const = default;
};

// What an SA is found by (RFC 4301 §4.1); Linux tells states apart by it too.
struct SaId {
  IpAddress destination;
  uint32_t spi = 0;  // host order
  auto operator<=>(const SaId&) const = default;
};

struct SaLifetime {
  static constexpr uint64_t kInfinite = ~uint64_t{0};
  uint64_t soft_bytes = kInfinite, hard_bytes = kInfinite;
  uint64_t soft_packets = kInfinite, hard_packets = kInfinite;
  uint64_t soft_add_s = 0, hard_add_s = 0;  // since it was added; 0: no limit
  uint64_t soft_use_s = 0, hard_use_s = 0;  // since it was used first; 0: no limit
  bool operator==(const SaLifetime&) const = default;
};

struct UdpEncapsulation {  // RFC 3948; host order
  uint16_t source_port = 4500, destination_port = 4500;
  bool operator==(const UdpEncapsulation&) const = default;
};

struct SaState {
  SaId id;
  IpAddress source;
  RouteOrigin origin = RouteOrigin::kLinux;
  IpsecMode mode = IpsecMode::kTunnel;
  uint32_t reqid = 0;  // what a policy's template asks for; 0: any
  uint32_t if_id = 0;  // of a route-based tunnel's interface; 0: none
  esp::Transform transform;
  esp::Keys keys;              // wiped when it goes
  uint32_t replay_window = 0;  // packets; 0: no anti-replay
  bool esn = false;
  std::optional<UdpEncapsulation> encapsulation;
  SaLifetime lifetime;
  IpsecSelector selector;  // of transport mode; everything where it is not given
  bool copy_dscp = true;   // RFC 6040 / RFC 4301 §5.1.2; off: XFRM_SA_XFLAG_DONT_ENCAP_DSCP
  bool copy_dont_fragment = true;  // off: XFRM_STATE_NOPMTUDISC
  bool ecn = true;                 // off: XFRM_STATE_NOECN
  uint64_t sequence = 0;           // sent so far, for an SA that comes with a history
  uint64_t replay_sequence = 0;    // highest received so far
  uint32_t tfc_pad = 0;            // bytes that payloads are padded to (RFC 4303 §2.7); 0: off
};

struct PolicyTemplate {           // XFRM's tmpl: what protects the packet
  IpAddress source, destination;  // outer; unspecified (all zero) in transport mode
  uint32_t reqid = 0;
  uint32_t spi = 0;  // 0: any
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

}  // namespace hecto::router
