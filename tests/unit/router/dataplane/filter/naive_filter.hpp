// The twin of compiled filters: each rule asked in turn, each question as it is written.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "config/file/filters.hpp"

namespace hecto::router::test {

// A packet as filters see it.
struct SeenPacket {
  lookup::IpAddress source, destination;
  unsigned protocol = 0, length = 0, dscp = 0;
  bool fragment = false, later = false;
  std::optional<std::pair<unsigned, unsigned>> ports, icmp;
  std::optional<unsigned> tcp_flags;
  std::string interface;
  uint32_t mark = 0;
};

// `there`: how many bytes of it are.
inline SeenPacket see(const std::vector<uint8_t>& ip, size_t there, std::string interface,
                      uint32_t mark) {
  const auto at16 = [&](size_t at) { return unsigned{ip[at]} << 8 | ip[at + 1]; };
  SeenPacket seen;
  seen.interface = std::move(interface);
  seen.mark = mark;
  const bool four = ip[0] >> 4 == 4;
  seen.source.family = seen.destination.family =
      four ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
  const size_t size = four ? 4 : 16, from = four ? 12 : 8;
  std::copy_n(ip.begin() + static_cast<long>(from), size, seen.source.bytes.begin());
  std::copy_n(ip.begin() + static_cast<long>(from + size), size, seen.destination.bytes.begin());
  const unsigned total = four ? at16(2) : at16(4) + 40;
  seen.length = std::min(total, 65535u);
  const size_t end = std::min<size_t>(there, total);
  size_t at;
  if (four) {
    seen.dscp = ip[1] >> 2;
    seen.protocol = ip[9];
    const unsigned word = at16(6);
    seen.fragment = (word & 0x3fff) != 0;
    seen.later = (word & 0x1fff) != 0;
    at = (ip[0] & 15) * 4u;
  } else {
    seen.dscp = (at16(0) >> 4 & 0xff) >> 2;
    seen.protocol = ip[6];
    at = 40;
    for (int passed = 0;; ++passed) {
      const unsigned kind = seen.protocol;
      if (kind != 0 && kind != 43 && kind != 44 && kind != 51 && kind != 60) break;
      if (passed == 16 || at + 8 > end) return seen;
      const unsigned next = ip[at], words = ip[at + 1];
      seen.protocol = next;
      if (kind == 44) {
        const unsigned offset = at16(at + 2) >> 3;
        const bool more = (ip[at + 3] & 1) != 0;
        if (offset != 0 || more) seen.fragment = true;
        if (offset != 0) seen.later = true;
        at += 8;
      } else {
        at += kind == 51 ? (words + 2) * 4 : (words + 1) * 8;
      }
      if (seen.later || at > end) return seen;
    }
  }
  if (seen.later) return seen;
  const size_t left = end > at ? end - at : 0;
  const unsigned p = seen.protocol;
  if ((p == 6 || p == 17 || p == 33 || p == 132 || p == 136) && left >= 4)
    seen.ports = {at16(at), at16(at + 2)};
  if (p == 6 && left >= 14) seen.tcp_flags = ip[at + 13];
  if (p == (four ? 1u : 58u) && left >= 2) seen.icmp = {ip[at], ip[at + 1]};
  return seen;
}

class NaiveFilter {
 public:
  NaiveFilter(const config::FiltersConfig& all, const config::FilterConfig& filter)
      : all_(all), filter_(filter) {}

  // From 1; 0: none holds.
  uint32_t first(const SeenPacket& packet) const {
    for (size_t i = 0; i < filter_.rules.size(); ++i)
      if (holds(filter_.rules[i], packet)) return static_cast<uint32_t>(i + 1);
    return 0;
  }
  bool holds(const config::FilterRuleConfig& rule, const SeenPacket& packet) const {
    const bool four = packet.source.family == lookup::Family::kIpv4;
    if (rule.family == (four ? config::RuleFamily::kIpv6 : config::RuleFamily::kIpv4)) return false;
    if (!is_at(rule.from, packet.source) || !is_at(rule.to, packet.destination)) return false;
    const unsigned icmp = four ? 1 : 58;
    if (rule.protocol == 1 ? packet.protocol != icmp
                           : rule.protocol != 0 && packet.protocol != rule.protocol)
      return false;
    if (four && rule.protocol == 58) return false;
    const auto among = [](const std::vector<config::PortSpan>& spans, unsigned port) {
      if (spans.empty()) return true;
      return std::ranges::any_of(
          spans, [&](const config::PortSpan& s) { return s.first <= port && port <= s.last; });
    };
    if (!rule.sources.empty() || !rule.destinations.empty()) {
      if (!packet.ports) return false;
      if (!among(rule.sources, packet.ports->first)) return false;
      if (!among(rule.destinations, packet.ports->second)) return false;
    }
    if (rule.tcp_mask != 0)
      if (!packet.tcp_flags || (*packet.tcp_flags & rule.tcp_mask) != rule.tcp_set) return false;
    if (rule.icmp_type || rule.icmp_code) {
      if (!packet.icmp) return false;
      unsigned type = packet.icmp->first;
      if (rule.icmp_both && !four) {
        static const std::map<unsigned, unsigned> kAs4 = {{129, 0},  {1, 3},  {128, 8}, {134, 9},
                                                          {133, 10}, {3, 11}, {4, 12}};
        const auto found = kAs4.find(type);
        if (found == kAs4.end()) return false;
        type = found->second;
      }
      if (rule.icmp_type && (type < rule.icmp_type->first || type > rule.icmp_type->last))
        return false;
      const unsigned code = packet.icmp->second;
      if (rule.icmp_code && (code < rule.icmp_code->first || code > rule.icmp_code->last))
        return false;
    }
    switch (rule.fragments) {
      case config::FragmentMatch::kAny:
        break;
      case config::FragmentMatch::kNone:
        if (packet.fragment) return false;
        break;
      case config::FragmentMatch::kFirst:
        if (!packet.fragment || packet.later) return false;
        break;
      case config::FragmentMatch::kLater:
        if (!packet.later) return false;
        break;
      case config::FragmentMatch::kFragment:
        if (!packet.fragment) return false;
        break;
    }
    if (rule.dscp && *rule.dscp != packet.dscp) return false;
    if (rule.length && (packet.length < rule.length->first || packet.length > rule.length->last))
      return false;
    if (!rule.iif.empty() && rule.iif != packet.interface) return false;
    return !rule.mark || *rule.mark == packet.mark;
  }

 private:
  bool is_at(const config::FilterEnd& end, const lookup::IpAddress& address) const {
    if (end.prefix && !end.prefix->contains(address)) return false;
    if (end.set.empty()) return true;
    for (const config::PrefixSetConfig& set : all_.sets) {
      if (set.name != end.set) continue;
      const auto in = [&](const lookup::IpPrefix& prefix) { return prefix.contains(address); };
      return std::ranges::any_of(set.prefixes, in) ||
             (set.of_file && std::ranges::any_of(*set.of_file, in));
    }
    return false;
  }
  const config::FiltersConfig& all_;
  const config::FilterConfig& filter_;
};

}  // namespace hecto::router::test
