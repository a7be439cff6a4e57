// What a policy says of a packet, in or out, and what becomes of a packet by its route: the words
// that the checks of all ways have in common.
#pragma once

#include <cstring>

#include "base/bytes.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/unseen_spd.hpp"

namespace hecto::router {

// Who decides where a packet goes.
enum class Goes : uint8_t {
  kOn,        // this router, or a tunnel: a neighbor that is not resolved does not matter to that
  kOwn,       // it is for one of our addresses
  kByLinux,   // Linux, by a device that it alone has (or a route that found no group here)
  kNoRoute,   // Linux, which may know more than its mirror
  kRejected,  // Linux, which answers or delivers it: unreachable, prohibit, broadcast
  kNowhere    // it is dropped in any case
};

inline Goes goes(const lookup::NextHopRecord& record) noexcept {
  using lookup::RecordKind;
  if (record.own != 0) return Goes::kOwn;
  if (lookup::leaves_by_port(record.kind) || record.kind == RecordKind::kMultipath ||
      record.if_id != 0)
    return Goes::kOn;
  if (record.kind == RecordKind::kDrop) return Goes::kNowhere;
  switch (static_cast<Reason>(record.reason)) {
    case Reason::kGlean:
      return Goes::kOn;
    case Reason::kLocal:
      return Goes::kByLinux;
    case Reason::kNoRoute:
      return Goes::kNoRoute;
    default:
      return Goes::kRejected;
  }
}

// What came in against the policy for it (RFC 4301 §5.2, steps 4 and 5). `exempt`: it may come
// without protection. Policies without room do not keep IKE out: it makes room.
inline Reason match_inbound(const esp::Policy* policy, const esp::Sa* sa, bool exempt) noexcept {
  const bool tunneled = sa != nullptr && sa->mode == IpsecMode::kTunnel;
  if (policy == nullptr || policy->action == PolicyAction::kBypass)
    return tunneled ? Reason::kPolicyMismatch : Reason::kNone;
  if (policy->left_out) return exempt ? Reason::kNone : Reason::kPolicyLeftOut;
  if (policy->action == PolicyAction::kDiscard) return Reason::kPolicyDiscard;
  if (sa == nullptr) return policy->optional || exempt ? Reason::kNone : Reason::kPolicyMismatch;
  const bool fits = sa->mode == policy->mode && (policy->reqid == 0 || policy->reqid == sa->reqid);
  return fits ? Reason::kNone : Reason::kPolicyMismatch;
}

struct Verdict {
  esp::Sa* sa = nullptr;  // that is to protect the packet
  Reason reason = Reason::kNone;
};

inline Verdict match_outbound(const esp::Policy* policy) noexcept {
  if (policy == nullptr || policy->action == PolicyAction::kBypass) return {};
  if (policy->action == PolicyAction::kDiscard)
    return {nullptr, policy->left_out ? Reason::kPolicyLeftOut : Reason::kPolicyDiscard};
  esp::Sa* sa = policy->sa.load(std::memory_order_acquire);
  return {sa, sa == nullptr ? Reason::kPolicyNoSa : Reason::kNone};
}

// The same for one packet, off the fast path, of which not all may be seen.
class OnePacket {
 public:
  OnePacket(const esp::IpsecView& tables, const esp::FlowKey& key, bool counts = true)
      : tables_(tables), key_(key), counts_(counts) {}

  Reason in(const esp::Sa* sa, bool exempt) const noexcept {
    return inbound(*tables_.in, *tables_.unseen_in, sa, exempt);
  }
  Reason forward(const esp::Sa* sa) const noexcept {
    return inbound(*tables_.forward, *tables_.unseen_forward, sa, false);
  }
  Verdict out(uint32_t if_id) const noexcept {
    const esp::Judged judged = judge(*tables_.out, *tables_.unseen_out, key_, if_id);
    count(judged.policy);
    return judged.certain ? match_outbound(judged.policy)
                          : Verdict{nullptr, Reason::kPolicyUnjudged};
  }
  // What leaves where nothing can protect it.
  Reason out_in_clear(uint32_t if_id) const noexcept {
    const Verdict verdict = out(if_id);
    return verdict.sa != nullptr ? Reason::kPolicyUnjudged : verdict.reason;
  }

 private:
  void count(const esp::Policy* policy) const noexcept {
    if (policy != nullptr && counts_) policy->packets.fetch_add(1, std::memory_order_relaxed);
  }
  Reason inbound(const esp::Spd& spd, const esp::UnseenSpd& unseen, const esp::Sa* sa,
                 bool exempt) const noexcept {
    const esp::Judged judged = judge(spd, unseen, key_, sa == nullptr ? 0 : sa->if_id);
    count(judged.policy);
    return judged.certain ? match_inbound(judged.policy, sa, exempt) : Reason::kPolicyUnjudged;
  }

  const esp::IpsecView& tables_;
  const esp::FlowKey& key_;
  const bool counts_;
};

}  // namespace hecto::router
