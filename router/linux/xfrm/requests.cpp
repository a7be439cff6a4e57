#include "router/linux/xfrm/requests.hpp"

#include <fmt/format.h>
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hecto::router {
namespace {

uint16_t family_of(const IpAddress& address) {
  return address.family == Family::kIpv4 ? AF_INET : AF_INET6;
}

xfrm_address_t to_xfrm(const IpAddress& address) {
  xfrm_address_t result{};
  std::memcpy(&result, address.bytes.data(), address.size());
  return result;
}

xfrm_usersa_id to_xfrm(const SaId& id) {
  xfrm_usersa_id result{};
  result.daddr = to_xfrm(id.destination);
  result.spi = htonl(id.spi);
  result.family = family_of(id.destination);
  result.proto = IPPROTO_ESP;
  return result;
}

xfrm_selector to_xfrm(const IpsecSelector& selector) {
  xfrm_selector result{};
  result.family = selector.family == Family::kIpv4 ? AF_INET : AF_INET6;
  result.saddr = to_xfrm(selector.source.address);
  result.prefixlen_s = selector.source.length;
  result.daddr = to_xfrm(selector.destination.address);
  result.prefixlen_d = selector.destination.length;
  result.proto = selector.protocol;
  result.sport = htons(selector.source_port);
  result.sport_mask = htons(selector.source_port_mask);
  result.dport = htons(selector.destination_port);
  result.dport_mask = htons(selector.destination_port_mask);
  return result;
}

uint8_t to_xfrm(PolicyDirection direction) {
  switch (direction) {
    case PolicyDirection::kOut:
      return XFRM_POLICY_OUT;
    case PolicyDirection::kIn:
      return XFRM_POLICY_IN;
    case PolicyDirection::kForward:
      return XFRM_POLICY_FWD;
  }
  return XFRM_POLICY_OUT;
}

template <typename Header>
Header* begin(char* buffer, uint16_t type, uint16_t flags, nlmsghdr*& message) {
  message = mnl_nlmsg_put_header(buffer);
  message->nlmsg_type = type;
  message->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  return static_cast<Header*>(mnl_nlmsg_put_extra_header(message, sizeof(Header)));
}

// The head of a struct xfrm_replay_state_esn and the largest bitmap, all of it "seen".
struct FullReplay {
  uint32_t words, oseq, seq, oseq_hi, seq_hi, window;
  std::array<uint32_t, XFRMA_REPLAY_ESN_MAX / 32> bitmap;
};

void put_wide_replay(nlmsghdr* message, uint64_t sequence, uint64_t received,
                     const SaProgress& known) {
  FullReplay replay{known.bitmap_words,
                    static_cast<uint32_t>(sequence),
                    static_cast<uint32_t>(received),
                    static_cast<uint32_t>(sequence >> 32),
                    static_cast<uint32_t>(received >> 32),
                    known.replay_window,
                    {}};
  replay.bitmap.fill(~0U);
  const size_t words = std::min<size_t>(known.bitmap_words, replay.bitmap.size());
  mnl_attr_put(message, XFRMA_REPLAY_ESN_VAL, offsetof(FullReplay, bitmap) + words * 4, &replay);
}

// Only an SA that sends has numbers to keep in reserve. Never behind what the kernel has: whoever goes
// on from there would use numbers, and nonces, again.
uint64_t ahead(const SaReport& usage, const SaProgress& known) {
  if (usage.sequence == 0) return known.sequence;
  const uint64_t end = usage.esn ? ~uint64_t{0} : 0xffffffffU;
  const uint64_t reserve = usage.esn ? kSequenceReserve : kNarrowSequenceReserve;
  const uint64_t wanted = usage.sequence > end - reserve ? end : usage.sequence + reserve;
  return std::max(wanted, known.sequence);
}

std::string name_of(const SaId& id) {
  return fmt::format("IPsec SA {} to {}", to_string(id.spi), id.destination.to_string());
}

}  // namespace

Result<XfrmRequests> XfrmRequests::open(const NetworkNamespace& space) {
  auto exchange = NetlinkExchange::open(space, NETLINK_XFRM);
  if (!exchange) return tl::unexpected(exchange.error());
  return XfrmRequests(std::move(*exchange));
}

Result<UsageOutcome> XfrmRequests::report(std::span<const SaReport> reports) {
  using Answer = NetlinkExchange::Answer;
  UsageOutcome outcome;
  const auto note = [&](size_t index, const Answer& answer) {
    if (answer.error_number == ESRCH) {
      ++outcome.gone;
      return;
    }
    if (++outcome.failed == 1) {
      outcome.first_failure = refusal(fmt::format("count for {}", name_of(reports[index].id)),
                                      answer.error_number, answer.detail);
    }
  };
  // Those that the kernel still has, and what must stay of what it knows.
  std::vector<size_t> there;
  known_.assign(reports.size(), {});
  auto asked = exchange_.run(
      reports.size(), messages::kXfrmMessageBytes,
      [&](size_t i, char* buffer) { return messages::sa_progress_query(buffer, reports[i].id); },
      [&](size_t i, const Answer& answer) {
        if (answer.error_number != 0) {
          note(i, answer);
        } else if (decode_progress(answer.message, known_[i]) == XfrmDecoded::kEvent) {
          there.push_back(i);
        }
      });
  if (!asked) return tl::unexpected(asked.error());
  auto set = exchange_.run(
      there.size(), messages::kXfrmMessageBytes,
      [&](size_t i, char* buffer) {
        return messages::sa_progress(buffer, reports[there[i]], known_[there[i]]);
      },
      [&](size_t i, const Answer& answer) {
        if (answer.error_number != 0) {
          note(there[i], answer);
        } else {
          ++outcome.done;
        }
      });
  if (!set) return tl::unexpected(set.error());
  return outcome;
}

Result<void> XfrmRequests::expire(const SaId& id, bool hard) {
  return exchange_.one(fmt::format("expire {}", name_of(id)), messages::kXfrmMessageBytes,
                       [&](char* buffer) { return messages::sa_expire(buffer, id, hard); });
}

Result<void> XfrmRequests::acquire(const IpsecPolicy& policy) {
  if (!policy.protection) return fail("IPsec: only a policy that protects needs an SA", EINVAL);
  return exchange_.one(
      fmt::format("ask for an IPsec SA from {} to {}", policy.selector.source.to_string(),
                  policy.selector.destination.to_string()),
      messages::kXfrmMessageBytes, [&](char* buffer) { return messages::acquire(buffer, policy); });
}

Result<void> exempt_from_xfrm(const NetworkNamespace& space, const std::string& interface) {
  constexpr const char* kSwitches[] = {"net/ipv4/conf/{}/disable_xfrm",
                                       "net/ipv4/conf/{}/disable_policy",
                                       "net/ipv6/conf/{}/disable_policy"};
  for (const char* path : kSwitches) {
    auto done = space.set_sysctl(fmt::format(fmt::runtime(path), interface), "1");
    // Without IPv6, or before Linux 4.15, there is no such file.
    if (!done && done.error().error_number != ENOENT) return done;
  }
  return {};
}

namespace messages {

nlmsghdr* sa_progress_query(char* buffer, const SaId& id) {
  nlmsghdr* message = nullptr;
  auto* header = begin<xfrm_aevent_id>(buffer, XFRM_MSG_GETAE, 0, message);
  header->sa_id = to_xfrm(id);
  return message;
}

// xfrm_new_ae() wants NLM_F_REPLACE, and a wide replay state of the very size that it has.
nlmsghdr* sa_progress(char* buffer, const SaReport& usage, const SaProgress& known) {
  nlmsghdr* message = nullptr;
  auto* header = begin<xfrm_aevent_id>(buffer, XFRM_MSG_NEWAE, NLM_F_ACK | NLM_F_REPLACE, message);
  header->sa_id = to_xfrm(usage.id);
  const xfrm_lifetime_cur lifetime{usage.bytes, usage.packets, known.added_s, usage.first_used_s};
  mnl_attr_put(message, XFRMA_LTIME_VAL, sizeof lifetime, &lifetime);
  const uint64_t sequence = ahead(usage, known);
  const uint64_t received = std::max(usage.replay_sequence, known.replay_sequence);
  if (known.wide) {
    put_wide_replay(message, sequence, received, known);
  } else {
    const xfrm_replay_state replay{static_cast<uint32_t>(sequence), static_cast<uint32_t>(received),
                                   ~0U};
    mnl_attr_put(message, XFRMA_REPLAY_VAL, sizeof replay, &replay);
  }
  return message;
}

nlmsghdr* sa_expire(char* buffer, const SaId& id, bool hard) {
  nlmsghdr* message = nullptr;
  auto* header = begin<xfrm_user_expire>(buffer, XFRM_MSG_EXPIRE, NLM_F_ACK, message);
  header->state.id = {to_xfrm(id.destination), htonl(id.spi), IPPROTO_ESP};
  header->state.family = family_of(id.destination);
  header->hard = hard ? 1 : 0;
  return message;
}

nlmsghdr* acquire(char* buffer, const IpsecPolicy& policy) {
  nlmsghdr* message = nullptr;
  auto* header = begin<xfrm_user_acquire>(buffer, XFRM_MSG_ACQUIRE, NLM_F_ACK, message);
  const PolicyTemplate& from = *policy.protection;
  header->id = {to_xfrm(from.destination), htonl(from.spi), IPPROTO_ESP};
  header->saddr = to_xfrm(from.source);
  header->sel = to_xfrm(policy.selector);
  header->policy.sel = header->sel;
  header->policy.lft = {XFRM_INF, XFRM_INF, XFRM_INF, XFRM_INF, 0, 0, 0, 0};
  header->policy.priority = policy.priority;
  header->policy.index = policy.index;
  header->policy.dir = to_xfrm(policy.direction);
  header->policy.action = XFRM_POLICY_ALLOW;
  header->aalgos = header->ealgos = header->calgos = ~0U;
  xfrm_user_tmpl tmpl{};
  tmpl.id = header->id;
  tmpl.family = family_of(from.destination);
  tmpl.saddr = header->saddr;
  tmpl.reqid = from.reqid;
  tmpl.mode = from.mode == IpsecMode::kTunnel ? XFRM_MODE_TUNNEL : XFRM_MODE_TRANSPORT;
  tmpl.aalgos = tmpl.ealgos = tmpl.calgos = ~0U;
  mnl_attr_put(message, XFRMA_TMPL, sizeof tmpl, &tmpl);
  if (policy.if_id != 0) mnl_attr_put_u32(message, XFRMA_IF_ID, policy.if_id);
  return message;
}

}  // namespace messages
}  // namespace hecto::router
