// What Ipsec tells those who ask (`hecto show ipsec`, the API, the mirror): plain copies, valid for
// ever, without keys.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "router/ipsec/esp/policy.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

// What workers did with an SA so far. Seconds of the clock in IpsecOptions; 0: never used.
struct SaUsage {
  uint64_t bytes = 0, packets = 0;
  uint32_t first_used_s = 0, last_used_s = 0;
  uint64_t sequence = 0;    // last one sent
  uint64_t replay_top = 0;  // highest one received
  // Bit i of word i / 32: number replay_top - i was received. Only when asked for; as many words as
  // the window fills.
  std::vector<uint32_t> replay_bitmap;
};

// What ports' NICs do of an SA.
struct NicUse {
  std::vector<std::string> ports;  // that have a session of it
  uint64_t packets = 0;            // of the SA's, that went by one
};

struct SaView {
  SaId id;
  IpAddress source;
  RouteOrigin origin = RouteOrigin::kLinux;
  IpsecMode mode = IpsecMode::kTunnel;
  uint32_t reqid = 0, if_id = 0;
  uint32_t number = 0;  // of its counters
  esp::Transform transform;
  uint32_t replay_window = 0;
  bool esn = false;
  std::optional<UdpEncapsulation> encapsulation;
  SaLifetime lifetime;
  uint32_t used_s = 0;  // since its first packet
  uint32_t age_s = 0;   // since it was added
  bool soft_expired = false;
  bool expired = false;
  uint32_t path_mtu = 0;  // as routers on the path have told lately; 0: not
  uint32_t policies = 0;  // outbound ones that it protects now
  SaUsage usage;
  NicUse nic;
  std::array<uint64_t, esp::kSaReasons> drops{};  // by reason, from esp::kFirstSaReason on
  uint64_t bytes_per_s = 0, packets_per_s = 0;    // between the last two calls of due()
};

struct PolicyView {
  IpsecPolicy policy;
  uint64_t packets = 0;
  std::optional<SaId> sa;  // outbound: what protects it now
};

// A lifetime that is over, told once.
struct Expiry {
  enum class Cause : uint8_t { kBytes, kPackets, kAddTime, kUseTime, kSequence };
  SaId id;
  RouteOrigin origin = RouteOrigin::kLinux;
  bool hard = false;
  Cause cause = Cause::kBytes;
  bool operator==(const Expiry&) const = default;
};
const char* to_string(Expiry::Cause cause);

// Of all SAs together, as of the last look at lifetimes. What was counted of an SA stays when it goes.
struct SaTotals {
  uint64_t packets = 0, bytes = 0;
  uint32_t soft_expired = 0, expired = 0;  // now; the second are not among the first
  double most_used = 0;  // of hard limits of bytes and packets and of sequence numbers: a share
};

struct IpsecStatistics {
  uint32_t sas = 0, policies = 0;
  SaTotals sa_totals;
  uint32_t max_sas = 0, max_policies = 0;
  uint32_t policies_without_sa = 0;  // outbound ones to protect
  uint64_t sas_refused = 0;          // Linux's: over the limit, or keys that do not fit
  uint64_t policies_refused = 0;     // Linux's: over the limit
  uint64_t contradictions = 0;
  uint64_t resyncs = 0;
  uint64_t swept = 0;  // SAs and policies that a resync did not confirm
};

}  // namespace hecto::router
