#include "router/dataplane/flow/flow_compile.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

using config::FlowActions;
using config::FlowConfig;
using config::FlowMatch;
using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

template <typename Bytes>
void put_be16(Bytes& at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

void put_prefix(const IpPrefix& prefix, uint8_t* key, uint8_t* mask, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    const int bits = std::clamp(static_cast<int>(prefix.length) - static_cast<int>(i) * 8, 0, 8);
    mask[i] = static_cast<uint8_t>(0xff00 >> bits);
    key[i] = prefix.address.bytes[i] & mask[i];
  }
}

// A prefix of the mask's length; none: of length 0.
std::optional<IpPrefix> prefix_of(Family family, const uint8_t* key, const uint8_t* mask,
                                  size_t bytes) {
  IpPrefix prefix;
  prefix.address.family = family;
  int length = 0;
  for (size_t i = 0; i < bytes; ++i) {
    prefix.address.bytes[i] = key[i];
    length += __builtin_popcount(mask[i]);
  }
  if (length == 0) return std::nullopt;
  prefix.length = static_cast<uint8_t>(length);
  return prefix;
}

template <typename Key>
uint32_t put_match(const FlowMatch& match, FlowPlace place, Key& key, Key& mask) {
  uint32_t needs = 0;
  std::memset(static_cast<void*>(&key), 0, sizeof key);
  std::memset(static_cast<void*>(&mask), 0, sizeof mask);
  const auto exactly = [](auto& at, auto& mask_at, const void* value) {
    std::memcpy(&at, value, sizeof at);
    std::memset(&mask_at, 0xff, sizeof mask_at);
  };
  const auto asks_state = [&](uint8_t bits) {
    key.state |= bits;
    mask.state |= bits;
    needs |= kNeedPorts | kNeedBits;
  };
  if (place != 0) exactly(key.interface, mask.interface, &place);
  if (match.from) put_prefix(*match.from, key.source, mask.source, sizeof key.source);
  if (match.to) put_prefix(*match.to, key.destination, mask.destination, sizeof key.destination);
  if (match.protocol != 0) {
    key.protocol = match.protocol;
    mask.protocol = 0xff;
  }
  const auto port = [&](const auto& wanted, unsigned at) {
    if (!wanted) return;
    key.ports[at] = static_cast<uint8_t>(*wanted >> 8);
    key.ports[at + 1] = static_cast<uint8_t>(*wanted);
    mask.ports[at] = mask.ports[at + 1] = 0xff;
    asks_state(kKeyPorts);
  };
  port(match.sport, 0);
  port(match.dport, 2);
  const auto icmp = [&](const auto& wanted, unsigned at) {
    if (!wanted) return;
    key.ports[at] = *wanted;
    mask.ports[at] = 0xff;
    asks_state(kKeyPorts);
  };
  icmp(match.icmp_type, 0);
  icmp(match.icmp_code, 1);
  if (match.tcp_mask != 0) {
    key.tcp_flags = match.tcp_set & match.tcp_mask;
    mask.tcp_flags = match.tcp_mask;
    asks_state(kKeyTcpFlags);
  }
  if (match.dscp) {
    key.dscp = *match.dscp;
    mask.dscp = 0xff;
    needs |= kNeedBits;
  }
  if (match.mark) {
    exactly(key.mark, mask.mark, &*match.mark);
    needs |= kNeedMark;
  }
  return needs;
}

FlowAction action_for(const FlowActions& actions, FlowPlace output) {
  FlowAction out;
  out.verdict = actions.verdict;
  out.output = output;
  if (actions.mac) {
    out.does |= FlowAction::kMac;
    std::memcpy(out.mac, actions.mac->data(), sizeof out.mac);
  }
  if (actions.decrement_ttl) out.does |= FlowAction::kTtl;
  const auto address = [&](const std::optional<IpAddress>& wanted, uint8_t* at, uint16_t bit) {
    if (!wanted) return;
    out.does |= bit;
    std::memcpy(at, wanted->bytes.data(), wanted->family == Family::kIpv4 ? 4 : 16);
  };
  address(actions.from, out.from, FlowAction::kFrom);
  address(actions.to, out.to, FlowAction::kTo);
  if (actions.sport) {
    out.does |= FlowAction::kSport;
    put_be16(out.sport, *actions.sport);
  }
  if (actions.dport) {
    out.does |= FlowAction::kDport;
    put_be16(out.dport, *actions.dport);
  }
  if (actions.dscp) {
    out.does |= FlowAction::kDscp;
    out.dscp = *actions.dscp;
  }
  if (actions.mark) {
    out.does |= FlowAction::kMark;
    out.mark = *actions.mark;
  }
  return out;
}

FlowActions actions_of(const FlowAction& action, Family family, const FlowNameOf& name) {
  FlowActions out;
  const auto does = [&](uint16_t bit) { return (action.does & bit) != 0; };
  const auto address = [&](const uint8_t* at) {
    IpAddress made;
    made.family = family;
    std::memcpy(made.bytes.data(), at, family == Family::kIpv4 ? 4 : 16);
    return made;
  };
  const auto port = [](const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); };
  out.verdict = action.verdict;
  if (action.output != 0) out.output = name(action.output);
  if (does(FlowAction::kMac)) {
    out.mac.emplace();
    std::memcpy(out.mac->data(), action.mac, sizeof action.mac);
  }
  out.decrement_ttl = does(FlowAction::kTtl);
  if (does(FlowAction::kFrom)) out.from = address(action.from);
  if (does(FlowAction::kTo)) out.to = address(action.to);
  if (does(FlowAction::kSport)) out.sport = port(action.sport);
  if (does(FlowAction::kDport)) out.dport = port(action.dport);
  if (does(FlowAction::kDscp)) out.dscp = action.dscp;
  if (does(FlowAction::kMark)) out.mark = action.mark;
  return out;
}

template <typename Key>
FlowMatch match_of(Family family, const Key& key, const Key& mask, const FlowNameOf& name) {
  FlowMatch out;
  out.family = family;
  FlowPlace place = 0;
  std::memcpy(&place, key.interface, sizeof place);
  if (place != 0) out.interface = name(place);
  out.from = prefix_of(family, key.source, mask.source, sizeof key.source);
  out.to = prefix_of(family, key.destination, mask.destination, sizeof key.destination);
  out.protocol = key.protocol;
  const bool icmp = key.protocol == (family == Family::kIpv4 ? 1 : 58);
  const auto port = [&](unsigned at) {
    return static_cast<uint16_t>(key.ports[at] << 8 | key.ports[at + 1]);
  };
  if (icmp && mask.ports[0] != 0) out.icmp_type = key.ports[0];
  if (icmp && mask.ports[1] != 0) out.icmp_code = key.ports[1];
  if (!icmp && mask.ports[0] != 0) out.sport = port(0);
  if (!icmp && mask.ports[2] != 0) out.dport = port(2);
  out.tcp_mask = mask.tcp_flags;
  out.tcp_set = key.tcp_flags;
  if (mask.dscp != 0) out.dscp = key.dscp;
  if (mask.mark[0] != 0) {
    out.mark.emplace();
    std::memcpy(&*out.mark, key.mark, sizeof key.mark);
  }
  return out;
}

}  // namespace

Result<FlowOrder> compile_flow(const FlowConfig& flow, const FlowPlaceOf& place) {
  FlowOrder order;
  FlowPlace in = 0, out = 0;
  if (!flow.match.interface.empty()) {
    const auto found = place(flow.match.interface);
    if (!found) return tl::unexpected(found.error());
    in = *found;
  }
  if (!flow.actions.output.empty()) {
    const auto found = place(flow.actions.output);
    if (!found) return tl::unexpected(found.error());
    out = *found;
  }
  order.family = flow.match.family;
  order.needs = order.family == Family::kIpv4 ? put_match(flow.match, in, order.key4, order.mask4)
                                              : put_match(flow.match, in, order.key6, order.mask6);
  order.priority = flow.priority;
  order.idle_s = flow.idle_s;
  order.hard_s = flow.hard_s;
  order.action = action_for(flow.actions, out);
  return order;
}

FlowConfig describe_flow(const FlowTables::Status& status, const FlowNameOf& name) {
  FlowConfig out;
  const FlowOrder& order = status.order;
  out.match = order.family == Family::kIpv4 ? match_of(order.family, order.key4, order.mask4, name)
                                            : match_of(order.family, order.key6, order.mask6, name);
  out.priority = status.priority;
  out.idle_s = status.idle_s;
  out.hard_s = status.hard_s;
  out.actions = actions_of(order.action, order.family, name);
  return out;
}

}  // namespace hecto::router
