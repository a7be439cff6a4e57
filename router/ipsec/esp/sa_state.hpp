// Security associations as control hears of them: from Linux (XFRM by netlink), the file and the
// API. Values only; owned by the control thread.
//
// Source: RFC 4301 (SAD), RFC 4303 (ESP), RFC 3948 (UDP encapsulation), linux/xfrm.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/net.hpp"
#include "router/ipsec/esp/selector.hpp"
#include "router/ipsec/esp/transform.hpp"

namespace hecto::router {

// What an SA is found by (RFC 4301 §4.1); Linux tells states apart by it too.
struct SaId {
  IpAddress destination;
  Spi spi = 0;  // host order
  auto operator<=>(const SaId&) const = default;
};

// "198.51.100.1 0x00001001", as messages name an SA.
std::string to_string(const SaId& id);

struct SaLifetime {
  static constexpr uint64_t kInfinite = ~uint64_t{0};
  uint64_t soft_bytes = kInfinite, hard_bytes = kInfinite;
  uint64_t soft_packets = kInfinite, hard_packets = kInfinite;
  uint64_t soft_add_s = 0, hard_add_s = 0;  // since it was added; 0: no limit
  uint64_t soft_use_s = 0, hard_use_s = 0;  // since it was used first; 0: no limit
  bool operator==(const SaLifetime&) const = default;
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

}  // namespace hecto::router
