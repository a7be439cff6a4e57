#include "router/linux/xfrm/mirror.hpp"

#include <fmt/format.h>
#include <linux/xfrm.h>

#include "router/linux/xfrm/decode_policy.hpp"
#include "router/linux/xfrm/decode_sa.hpp"

namespace hecto::router {
namespace {

// Not AEVENTS: what hectod itself reports would come back. MIGRATE changes states and policies
// without a word to the first two.
constexpr unsigned kGroups[] = {XFRMNLGRP_SA, XFRMNLGRP_POLICY, XFRMNLGRP_EXPIRE,
                                XFRMNLGRP_MIGRATE};

std::vector<DumpPhase> plan() {
  return {{MessageKind::kSa, XFRM_MSG_GETSA, 0, 0},
          {MessageKind::kPolicy, XFRM_MSG_GETPOLICY, 0, 0}};
}

}  // namespace

// xfrm_state_insert() and xfrm_policy_insert() put the new in front of net->xfrm.state_all and
// policy_all, which is what dumps walk.
XfrmMirror::XfrmMirror(const NetworkNamespace& space, IpsecEvents& events, Tell tell,
                       const MirrorOptions& options, Sockets&& sockets)
    : MirrorBase(
          options, std::move(sockets),
          {plan(), true, true,
           [&space, bytes = options.receive_buffer_bytes] { return open_sockets(space, bytes); }}),
      events_(events),
      tell_(std::move(tell)) {}

Result<MirrorBase::Sockets> XfrmMirror::open_sockets(const NetworkNamespace& space,
                                                     uint32_t buffer_bytes) {
  auto live = NetlinkSocket::open(space, NETLINK_XFRM);
  if (!live) {
    return fail(live.error().error_number == EPROTONOSUPPORT
                    ? "this kernel has no IPsec (CONFIG_XFRM_USER): nothing to mirror"
                    : live.error().message,
                live.error().error_number);
  }
  live->set_receive_buffer(buffer_bytes);
  for (const unsigned group : kGroups) {
    if (auto done = live->subscribe(group); !done) return tl::unexpected(done.error());
  }
  auto dump = DumpReader::open(space, NETLINK_XFRM);
  if (!dump) return tl::unexpected(dump.error());
  return Sockets{std::move(*live), std::move(*dump)};
}

Result<std::unique_ptr<XfrmMirror>> XfrmMirror::open(const NetworkNamespace& space,
                                                     IpsecEvents& events, Tell tell,
                                                     const MirrorOptions& options) {
  auto sockets = open_sockets(space, options.receive_buffer_bytes);
  if (!sockets) return tl::unexpected(sockets.error());
  std::unique_ptr<XfrmMirror> mirror(
      new XfrmMirror(space, events, std::move(tell), options, std::move(*sockets)));
  if (auto done = mirror->watch(); !done) return tl::unexpected(done.error());
  mirror->request_resync("start");
  return mirror;
}

void XfrmMirror::deliver(const Message& message, bool live) {
  XfrmDecoded decoded = XfrmDecoded::kIgnored;
  switch (kind(message)) {
    case MessageKind::kSa:
      decoded = deliver_sa(message);
      break;
    case MessageKind::kPolicy:
      decoded = deliver_policy(message);
      break;
    default:
      if (live && message.header.nlmsg_type == XFRM_MSG_MIGRATE) resync_soon("SAs migrated");
      break;
  }
  if (decoded == XfrmDecoded::kIgnored) ++stats_.ignored;
  if (decoded == XfrmDecoded::kMalformed) ++stats_.malformed;
}

XfrmDecoded XfrmMirror::deliver_sa(const Message& message) {
  switch (message.header.nlmsg_type) {
    case XFRM_MSG_FLUSHSA: {
      const XfrmDecoded decoded = decode_sas_flushed(message);
      if (decoded == XfrmDecoded::kEvent) events_.sas_flushed();
      return decoded;
    }
    case XFRM_MSG_DELSA:
    case XFRM_MSG_EXPIRE: {
      SaId id;
      const XfrmDecoded decoded = decode_sa_removed(message, id);
      if (decoded == XfrmDecoded::kEvent) events_.sa_removed(id);
      return decoded;
    }
    default:
      break;
  }
  SaState state;
  const XfrmDecoded decoded = decode_sa(message, state, why_);
  if (decoded == XfrmDecoded::kEvent) {
    events_.sa(std::move(state));
  } else if (decoded == XfrmDecoded::kUnsupported) {
    note(
        fmt::format("IPsec SA {} to {}: {}: not supported, so packets that need it are "
                    "dropped",
                    to_string(state.id.spi), state.id.destination.to_string(), why_));
    events_.sa_removed(state.id);  // it may have been one that was
  }
  return decoded;
}

XfrmDecoded XfrmMirror::deliver_policy(const Message& message) {
  if (message.header.nlmsg_type == XFRM_MSG_FLUSHPOLICY) {
    const XfrmDecoded decoded = decode_policies_flushed(message);
    if (decoded == XfrmDecoded::kEvent) events_.policies_flushed();
    return decoded;
  }
  IpsecPolicy policy;
  if (message.header.nlmsg_type == XFRM_MSG_DELPOLICY ||
      message.header.nlmsg_type == XFRM_MSG_POLEXPIRE) {
    const XfrmDecoded decoded = decode_policy_removed(message, policy);
    if (decoded == XfrmDecoded::kEvent) events_.policy_removed(policy);
    return decoded;
  }
  const XfrmDecoded decoded = decode_policy(message, policy, why_);
  if (decoded == XfrmDecoded::kEvent || decoded == XfrmDecoded::kStandIn) events_.policy(policy);
  if (decoded == XfrmDecoded::kStandIn || decoded == XfrmDecoded::kUnsupported) {
    note(fmt::format(
        "IPsec policy {} to {}: {}: not supported, so {}", policy.selector.source.to_string(),
        policy.selector.destination.to_string(), why_,
        decoded == XfrmDecoded::kStandIn ? "its packets are dropped" : "it applies to no packet"));
  }
  return decoded;
}

void XfrmMirror::note(const std::string& line) {
  if (unsupported_.size() >= kMaxSorts && unsupported_.count(why_) == 0) return;
  if (++unsupported_[why_] == 1 && tell_) tell_(line);
}

}  // namespace hecto::router
