#include "router/dataplane/filter/rule_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "router/dataplane/filter/key.hpp"

namespace hecto::router {
namespace {

using config::FilterEnd;
using config::FilterRuleConfig;
using config::FragmentMatch;
using config::PortSpan;
using config::RuleFamily;
using lookup::Family;

constexpr uint8_t kIcmp = 1, kTcp = 6, kIcmp6 = 58;
constexpr std::array<uint8_t, 5> kWithPorts = {6, 17, 33, 132, 136};  // has_ports() of flow.hpp

bool is_of(const FilterRuleConfig& rule, Family family) {
  const bool four = family == Family::kIpv4;
  if (rule.family == (four ? RuleFamily::kIpv6 : RuleFamily::kIpv4)) return false;
  for (const FilterEnd* end : {&rule.from, &rule.to})
    if (end->prefix && end->prefix->address.family != family) return false;
  return !(four && rule.protocol == kIcmp6);
}

// ICMPv6's number of what ICMPv4 calls so (RFC 792, RFC 4443); none: it has no such message.
std::optional<uint32_t> type_in_ipv6(uint32_t type) {
  switch (type) {
    case 0:
      return 129;  // echo reply
    case 3:
      return 1;  // destination unreachable
    case 8:
      return 128;  // echo request
    case 9:
      return 134;  // router advertisement
    case 10:
      return 133;  // router solicitation
    case 11:
      return 3;  // time exceeded
    case 12:
      return 4;  // parameter problem
    default:
      return std::nullopt;
  }
}

std::vector<Span16> icmp_spans(uint32_t first, uint32_t last,
                               const std::optional<config::NumberSpan>& code) {
  const auto span = [](uint32_t from, uint32_t to) {
    return Span16{static_cast<uint16_t>(from), static_cast<uint16_t>(to)};
  };
  const uint32_t low = code ? std::min(code->first, 255u) : 0;
  const uint32_t high = code ? std::min(code->last, 255u) : 255;
  if (low == 0 && high == 255) return {span(first << 8, last << 8 | 255)};
  std::vector<Span16> out;
  for (uint32_t type = first; type <= last; ++type)
    out.push_back(span(type << 8 | low, type << 8 | high));
  return out;
}

std::vector<Span16> port_spans(const std::vector<PortSpan>& from) {
  std::vector<Span16> out;
  for (const PortSpan& each : from) out.push_back({each.first, each.last});
  std::ranges::sort(out, {}, &Span16::first);
  size_t kept = 0;
  for (const Span16& each : out) {
    if (kept > 0 && each.first <= out[kept - 1].last + 1)
      out[kept - 1].last = std::max(out[kept - 1].last, each.last);
    else
      out[kept++] = each;
  }
  out.resize(kept);
  return out;
}

// Where there are none a key has 0, so that only spans with 0 have to ask whether they are there.
bool asks_whether_seen(const std::vector<Span16>& spans) {
  return std::ranges::any_of(spans, [](const Span16& span) { return span.first == 0; });
}

void read_transport(const FilterRuleConfig& rule, Family family, RuleWords& words) {
  const bool four = family == Family::kIpv4;
  const uint8_t icmp = four ? kIcmp : kIcmp6;
  const bool ports = !rule.sources.empty() || !rule.destinations.empty();
  const bool of_icmp = rule.icmp_type || rule.icmp_code;
  uint8_t protocol = rule.protocol == kIcmp ? icmp : rule.protocol;
  if (rule.tcp_mask != 0) {
    if (protocol != 0 && protocol != kTcp) {
      words.never = fmt::format("protocol {} has no TCP flags", rule.protocol);
      return;
    }
    protocol = kTcp;
    words.tcp = {static_cast<uint8_t>(rule.tcp_set & rule.tcp_mask), rule.tcp_mask};
    words.state.value |= kKeyTcpFlags;
    words.state.mask |= kKeyTcpFlags;
  }
  if (of_icmp) {
    if (ports || (protocol != 0 && protocol != icmp)) {
      words.never = ports ? std::string("ICMP has no ports")
                          : fmt::format("protocol {} has no ICMP type", rule.protocol);
      return;
    }
    protocol = icmp;
    uint32_t first = rule.icmp_type ? std::min(rule.icmp_type->first, 255u) : 0;
    uint32_t last = rule.icmp_type ? std::min(rule.icmp_type->last, 255u) : 255;
    if (rule.icmp_type && rule.icmp_both && !four) {
      const auto type = type_in_ipv6(first);
      if (!type) {
        words.never = fmt::format("ICMPv6 has no message like type {} of ICMP", first);
        return;
      }
      first = last = *type;
    }
    words.sources = icmp_spans(first, last, rule.icmp_code);
  } else if (ports) {
    if (protocol != 0 && std::ranges::find(kWithPorts, protocol) == kWithPorts.end()) {
      words.never = fmt::format("protocol {} has no ports", rule.protocol);
      return;
    }
    words.sources = port_spans(rule.sources);
    words.destinations = port_spans(rule.destinations);
  }
  if (asks_whether_seen(words.sources) || asks_whether_seen(words.destinations)) {
    words.state.value |= kKeyPorts;
    words.state.mask |= kKeyPorts;
  }
  if (protocol != 0)
    words.protocols = {protocol};
  else if (ports)
    words.protocols.assign(kWithPorts.begin(), kWithPorts.end());
}

void read_fragments(FragmentMatch match, MaskedByte& state) {
  const auto ask = [&](unsigned bit, bool set) {
    state.mask = static_cast<uint8_t>(state.mask | bit);
    if (set) state.value = static_cast<uint8_t>(state.value | bit);
  };
  switch (match) {
    case FragmentMatch::kAny:
      return;
    case FragmentMatch::kNone:
      return ask(kKeyFragment, false);
    case FragmentMatch::kFirst:
      return ask(kKeyFirst, true);
    case FragmentMatch::kLater:
      return ask(kKeyLater, true);
    case FragmentMatch::kFragment:
      return ask(kKeyFragment, true);
  }
}

// False: no packet of the family is from or to there.
bool read_end(const FilterEnd& end, Family family, const FilterNames& names,
              std::vector<Span16>& classes, const lookup::IpPrefix*& prefix) {
  if (end.prefix && end.prefix->length > 0) prefix = &*end.prefix;
  if (end.set.empty()) return true;
  const auto found = names.classes.find(end.set);
  if (found == names.classes.end() || !names.sets->holds(end.set, family)) return false;
  classes = found->second;
  return true;
}

// Of the interfaces that it asks for anyway, or of all, those with one of its tags.
void keep_vlans(const FilterRuleConfig& rule, const FilterNames& names, RuleWords& words) {
  std::vector<InterfaceId> tagged;
  for (const auto& [interface, vlan] : names.vlans) {
    const bool asked = std::ranges::any_of(rule.vlans, [vlan = vlan](const config::PortSpan& span) {
      return span.first <= vlan && vlan <= span.last;
    });
    const bool by_name = rule.iif.empty() ||
                         std::ranges::find(words.interfaces, interface) != words.interfaces.end();
    if (asked && by_name) tagged.push_back(interface);
  }
  words.interfaces = std::move(tagged);
  if (words.interfaces.empty() && words.never.empty())
    words.never = "there is no interface with its VLAN (now)";
}

}  // namespace

RuleWords words_of(const FilterRuleConfig& rule, Family family, const FilterNames& names) {
  RuleWords words;
  if (!is_of(rule, family) || !read_end(rule.from, family, names, words.from_classes, words.from) ||
      !read_end(rule.to, family, names, words.to_classes, words.to)) {
    words.by_family = true;
    words.never = "it is one of the other family";
    return words;
  }
  read_transport(rule, family, words);
  read_fragments(rule.fragments, words.state);
  if (rule.dscp) words.dscp = {*rule.dscp, 0xff};
  if (rule.length) {
    const auto bound = [](uint32_t bytes) {
      return static_cast<uint16_t>(std::min(bytes, 0xffffu));
    };
    words.length = {bound(rule.length->first), bound(rule.length->last)};
  }
  words.mark = rule.mark;
  if (!rule.iif.empty()) {
    const auto found = names.interfaces.find(rule.iif);
    if (found != names.interfaces.end()) words.interfaces = found->second;
    if (words.interfaces.empty())
      words.never = fmt::format("there is no interface {} (now)", rule.iif);
  }
  if (!rule.vlans.empty()) keep_vlans(rule, names, words);
  return words;
}

uint32_t RuleWords::needs() const {
  const auto of_prefix = [](const lookup::IpPrefix* prefix, uint32_t first) {
    uint32_t needs = 0;
    for (unsigned bits = 0; prefix != nullptr && bits < prefix->length; bits += 32, first <<= 1)
      needs |= first;
    return needs;
  };
  uint32_t needs = of_prefix(from, kNeedSource) | of_prefix(to, kNeedDestination);
  if (!from_classes.empty()) needs |= kNeedFromClass;
  if (!to_classes.empty()) needs |= kNeedToClass;
  if (!sources.empty() || !destinations.empty()) needs |= kNeedPorts;
  if ((tcp.mask | state.mask | dscp.mask) != 0) needs |= kNeedBits;
  if (!length.any() || !interfaces.empty()) needs |= kNeedSizes;
  if (mark) needs |= kNeedMark;
  return needs;
}

uint64_t RuleWords::entries() const {
  if (!never.empty()) return 0;
  uint64_t product = 1;
  for (const size_t several : {protocols.size(), from_classes.size(), to_classes.size(),
                               sources.size(), destinations.size(), interfaces.size()})
    product *= std::max<uint64_t>(several, 1);
  return product;
}

void RuleWords::add_to(Fingerprint& print) const {
  if (!never.empty()) return;
  const auto add_all = [&](const auto& list, auto word) {
    print.add(list.size());
    for (const auto& each : list) print.add(word(each));
  };
  const auto span = [](const Span16& of) { return uint64_t{of.first} << 16 | of.last; };
  add_all(protocols, [](uint8_t protocol) { return uint64_t{protocol}; });
  for (const auto* spans : {&from_classes, &to_classes, &sources, &destinations})
    add_all(*spans, span);
  add_all(interfaces, [](InterfaceId id) { return uint64_t{uint16_t{id}}; });
  for (const lookup::IpPrefix* prefix : {from, to}) {
    print.add(prefix != nullptr ? prefix->length + 1u : 0u);
    if (prefix == nullptr) continue;
    const auto& bytes = prefix->address.bytes;
    print.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  for (const MaskedByte& of : {tcp, state, dscp}) print.add(uint64_t{of.value} << 8 | of.mask);
  print.add(span(length));
  print.add(mark ? uint64_t{*mark} << 1 | 1 : 0);
}

}  // namespace hecto::router
