// What the router asks of the kernel's IPsec: to know how far SAs have come, and to tell the IKE
// daemon that one is used up or needed.
//
// The kernel's own counters stand still, as no packet passes there. report() sets them, so that
// `ip -s xfrm state` and charon see what the fast path did; expire() is what the kernel would have
// said at a limit of bytes or packets, upon which charon rekeys. Limits of time stay the kernel's.
//
// Each call waits for the kernel's answers (it acts while the request is being sent). Control
// thread only. Source: xfrm_get_ae(), xfrm_new_ae(), xfrm_add_sa_expire(), xfrm_add_acquire() in
// net/xfrm/xfrm_user.c.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "router/ipsec/esp/policy.hpp"
#include "router/linux/netlink_exchange.hpp"
#include "router/linux/xfrm/decode_sa.hpp"

namespace hecto::router {

struct SaReport {
  SaId id;
  bool esn = false;
  uint64_t bytes = 0, packets = 0;  // since the SA was made
  uint64_t first_used_s = 0;        // since 1970; 0: never
  uint64_t sequence = 0;            // the last given out; 0: none
  uint64_t replay_sequence = 0;     // the highest received
};

struct UsageOutcome {
  size_t done = 0;
  size_t gone = 0;  // SAs that the kernel no longer has
  size_t failed = 0;
  Error first_failure;
};

// What report() adds to `sequence`: whoever goes on from the kernel's number (hectod after a
// restart, an SA that charon gives another address) uses none again that was sent since the last
// report, and so no IV of a counter mode twice. Enough for 60 million packets between two reports;
// without ESN, whose numbers are scarce, for 16 million.
inline constexpr uint64_t kSequenceReserve = uint64_t{1} << 26;
inline constexpr uint64_t kNarrowSequenceReserve = uint64_t{1} << 24;

class XfrmRequests {
 public:
  // EPROTONOSUPPORT: the kernel has no XFRM.
  static Result<XfrmRequests> open(const NetworkNamespace& space);

  // Sets the kernel's counters, lifetimes and numbers. An error: the socket failed.
  Result<UsageOutcome> report(std::span<const SaReport> reports);
  // Soft: the IKE daemon makes a new SA. Hard: the kernel's is deleted, and the daemon told.
  // ENOENT: it is gone already.
  Result<void> expire(const SaId& id, bool hard);
  // A packet found a policy that protects and no SA (`start_action = trap`): the IKE daemon makes
  // one. `policy.protection` must be there.
  Result<void> acquire(const IpsecPolicy& policy);

 private:
  explicit XfrmRequests(NetlinkExchange exchange) : exchange_(std::move(exchange)) {}

  NetlinkExchange exchange_;
  std::vector<SaProgress> known_;
};

// Has Linux leave the packets of `interface` alone: neither does it protect what it sends there
// (hectod does, with numbers of its own), nor does it drop what comes from there in clear because a
// policy protects it (hectod has checked that). For a twin, right after it was made.
// IPv6: Linux has no switch for what it sends itself; see README.md.
Result<void> exempt_from_xfrm(const NetworkNamespace& space, const std::string& interface);

namespace messages {

inline constexpr size_t kXfrmMessageBytes = 1024;

nlmsghdr* sa_progress_query(char* buffer, const SaId& id);
// `known`: what the kernel said; add_time, the form of its replay state and its window stay.
nlmsghdr* sa_progress(char* buffer, const SaReport& usage, const SaProgress& known);
nlmsghdr* sa_expire(char* buffer, const SaId& id, bool hard);
nlmsghdr* acquire(char* buffer, const IpsecPolicy& policy);

}  // namespace messages
}  // namespace hecto::router
