#include "config/file/filter_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "config/file/filter_cover.hpp"
#include "config/file/ipsec.hpp"

namespace hecto::config {
namespace {

using lookup::Family;
using NameSet = std::set<std::string_view>;

// rule 7, or rule 7 (ssh)
std::string rule_words(const FilterConfig& filter, size_t rule) {
  const std::string& name = filter.rules[rule].name;
  return name.empty() ? fmt::format("rule {}", rule + 1)
                      : fmt::format("rule {} ({})", rule + 1, name);
}

// Notes of one kind about one filter or kind of thing; those beyond the first are counted.
class Notes {
 public:
  Notes(std::vector<std::string>& lines, std::string where)
      : lines_(lines), where_(std::move(where)) {}
  void add(const std::string& text) {
    if (++count_ <= kMostFilterNotes) lines_.push_back(fmt::format("{}: {}", where_, text));
  }
  void end(std::string_view what) {
    if (count_ > kMostFilterNotes)
      lines_.push_back(fmt::format("{}: and {} more {}", where_, count_ - kMostFilterNotes, what));
    count_ = 0;
  }

 private:
  std::vector<std::string>& lines_;
  std::string where_;
  size_t count_ = 0;
};

// Why no packet is as the rule asks; empty: one may be.
std::string why_never(const FilterRuleConfig& rule) {
  if (fragments_of(rule) == 0)
    return "fragments behind the first have no ports, flags or ICMP type, and it asks for both";
  const bool ipv4 = rule.holds_for(Family::kIpv4);
  const uint32_t shortest = ipv4 ? 20 : 40;  // RFC 791 §3.1, RFC 8200 §3: the header alone
  if (rule.length && rule.length->last < shortest)
    return fmt::format("no {} packet is shorter than {} bytes", ipv4 ? "IP" : "IPv6", shortest);
  return {};
}

void note_rules_that_never_hold(const FilterConfig& filter, const Config& config, Notes& notes) {
  for (size_t i = 0; i < filter.rules.size(); ++i)
    if (const std::string why = why_never(filter.rules[i]); !why.empty())
      notes.add(fmt::format("{} never holds: {}", rule_words(filter, i), why));
  notes.end("rules that ask for what cannot be");
  const Coverage coverage = covered_rules(filter, config.filters.sets);
  for (const CoveredRule& covered : coverage.covered) {
    constexpr size_t kMostNamed = 3;
    std::vector<std::string> by;
    for (size_t i = 0; i < std::min(covered.by.size(), kMostNamed); ++i)
      by.push_back(rule_words(filter, covered.by[i]));
    if (covered.by.size() > kMostNamed) by.emplace_back("others");
    const bool one = covered.by.size() == 1;
    notes.add(fmt::format("{} never holds: {} {} for all that it asks for",
                          rule_words(filter, covered.rule), fmt::join(by, " and "),
                          one ? "holds" : "hold together"));
  }
  notes.end("rules never hold, because of earlier ones");
  if (!coverage.complete)
    notes.add("too many rules are alike to compare all: others may never hold, too");
  notes.end({});
}

// What comes in by the interfaces of `in` alone came in by no other.
void note_interfaces(const FilterConfig& filter, Notes& notes) {
  if (filter.in.empty() || !filter.out.empty() || !filter.vrfs.empty() || filter.local) return;
  for (size_t i = 0; i < filter.rules.size(); ++i) {
    const std::string& iif = filter.rules[i].iif;
    if (!iif.empty() && std::find(filter.in.begin(), filter.in.end(), iif) == filter.in.end())
      notes.add(
          fmt::format("{} never holds: it asks for iif {}, and the filter is about what comes "
                      "in by {}",
                      rule_words(filter, i), iif, fmt::join(filter.in, ", ")));
  }
  notes.end("rules ask for another iif");
}

// In IPv6 ICMP is ICMPv6.
uint8_t protocol_in(const FilterRuleConfig& rule, Family family) {
  constexpr uint8_t kIcmpNumber = 1, kIcmp6Number = 58;
  return family == Family::kIpv6 && rule.protocol == kIcmpNumber ? kIcmp6Number : rule.protocol;
}

// Protocols, by family, whose fragments behind the first some rule accepts; all: those of any.
struct AcceptedLater {
  std::bitset<256> protocols[2];

  explicit AcceptedLater(const FilterConfig& filter) {
    for (const FilterRuleConfig& rule : filter.rules)
      for (const Family family : {Family::kIpv4, Family::kIpv6}) {
        if (rule.verdict != FilterVerdict::kAccept || !rule.holds_for(family) ||
            (fragments_of(rule) & kLaterFragments) == 0)
          continue;
        std::bitset<256>& of = protocols[family == Family::kIpv6 ? 1 : 0];
        if (const uint8_t protocol = protocol_in(rule, family); protocol != 0)
          of.set(protocol);
        else
          of.set();
      }
  }
  bool has(const FilterRuleConfig& rule, Family family) const {
    return protocols[family == Family::kIpv6 ? 1 : 0].test(protocol_in(rule, family));
  }
};

// What is accepted by ports and longer than a path's MTU loses all but its first fragment.
void note_fragments(const FilterConfig& filter, Notes& notes) {
  if (filter.otherwise == FilterVerdict::kAccept) return;
  const AcceptedLater accepted(filter);
  for (size_t i = 0; i < filter.rules.size(); ++i) {
    const FilterRuleConfig& rule = filter.rules[i];
    if (rule.verdict != FilterVerdict::kAccept || !rule.asks_for_ports() ||
        (fragments_of(rule) & kFirstFragments) == 0)
      continue;
    for (const Family family : {Family::kIpv4, Family::kIpv6})
      if (rule.holds_for(family) && !accepted.has(rule, family))
        return notes.add(fmt::format(
            "{} accepts {} by its ports, flags or type, and fragments behind the first, which have "
            "none, are dropped by otherwise: {}; add {{fragments: later}} to the rules, or "
            "fragments: none where that is meant",
            rule_words(filter, i), protocol_text(rule.protocol), to_string(filter.otherwise)));
  }
}

NameSet interfaces_of(const Config& config, std::vector<std::string>& vlans) {
  NameSet names;
  for (const PortConfig& port : config.ports)
    for (const VlanConfig& vlan : port.vlans) vlans.push_back(interface_name(port.name, vlan));
  for (const PortConfig& port : config.ports) names.insert(port.name);
  names.insert(vlans.begin(), vlans.end());
  return names;
}

// With a Linux side they may come later; else the file was refused.
void note_unknown(std::string_view key, const std::string& name, const NameSet& known,
                  Notes& notes) {
  if (known.contains(name)) return;
  const std::string_view near =
      nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
  notes.add(
      fmt::format("{}: {} is no interface of this file{}; until Linux makes it nothing "
                  "comes of that",
                  key, name, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

void note_unknown(const FilterConfig& filter, const NameSet& known, Notes& notes) {
  const auto tell = [&](std::string_view key, const std::string& name) {
    note_unknown(key, name, known, notes);
  };
  for (const std::string& name : filter.in) tell("in", name);
  for (const std::string& name : filter.out) tell("out", name);
  for (size_t i = 0; i < filter.rules.size(); ++i)
    if (const std::string& iif = filter.rules[i].iif; !iif.empty() && !known.contains(iif))
      tell(rule_words(filter, i) + ", iif", iif);
  notes.end("names of interfaces that are not in this file");
}

void note_samples(const FilterConfig& filter, const Config& config, Notes& notes) {
  if (!config.sflow.collectors.empty()) return;
  for (size_t i = 0; i < filter.rules.size(); ++i)
    if (filter.rules[i].sample != 0)
      notes.add(fmt::format("{}: sample: sflow has no collectors, so nothing is sampled",
                            rule_words(filter, i)));
  notes.end("rules with sample, for which sflow has no collectors");
}

// A copy of what has just come in, back to who sent it, or on a wire where others live.
void note_mirrors(const FilterConfig& filter, Notes& notes) {
  for (size_t i = 0; i < filter.rules.size(); ++i)
    if (const std::string& to = filter.rules[i].mirror;
        std::find(filter.in.begin(), filter.in.end(), to) != filter.in.end())
      notes.add(fmt::format("{}: mirror: copies go back to {}, where the packets come in",
                            rule_words(filter, i), to));
  notes.end("mirrors where the packets come in");
}

void note_filter(const FilterConfig& filter, const NameSet& interfaces, const Config& config,
                 std::vector<std::string>& lines) {
  Notes notes(lines, "filters." + filter.name);
  if (filter.in.empty() && filter.out.empty() && filter.vrfs.empty() && !filter.local)
    notes.add("applied nowhere, so it judges nothing; add in, out, vrfs or local");
  if (filter.rules.empty() && filter.otherwise == FilterVerdict::kAccept)
    notes.add("no rules, and all else is accepted, so it does nothing");
  note_unknown(filter, interfaces, notes);
  note_rules_that_never_hold(filter, config, notes);
  note_interfaces(filter, notes);
  note_fragments(filter, notes);
  note_samples(filter, config, notes);
  note_mirrors(filter, notes);
}

}  // namespace

std::vector<std::string> check_filters(const Config& config) {
  const FiltersConfig& filters = config.filters;
  std::vector<std::string> lines;
  NameSet sets, policers;
  for (const FilterConfig& filter : filters.filters)
    for (const FilterRuleConfig& rule : filter.rules) {
      sets.insert({rule.from.set, rule.to.set});
      policers.insert(rule.police);
    }
  for (const PrefixSetConfig& set : filters.sets) {
    if (!sets.contains(set.name))
      lines.push_back(fmt::format("sets.{}: no rule names it", set.name));
    else if (set.size() == 0)
      lines.push_back(
          fmt::format("sets.{}: no prefixes, so rules that name it never hold", set.name));
  }
  for (const PolicerConfig& policer : filters.policers)
    if (!policers.contains(policer.name) && policer.in.empty() && policer.out.empty())
      lines.push_back(fmt::format("policers.{}: no rule names it", policer.name));
  std::vector<std::string> vlans;
  const NameSet interfaces = interfaces_of(config, vlans);
  for (const PolicerConfig& policer : filters.policers) {
    Notes notes(lines, "policers." + policer.name);
    for (const std::string& name : policer.in) note_unknown("in", name, interfaces, notes);
    for (const std::string& name : policer.out) note_unknown("out", name, interfaces, notes);
    notes.end("names of interfaces that are not in this file");
  }
  for (const FilterConfig& filter : filters.filters) note_filter(filter, interfaces, config, lines);
  return lines;
}

}  // namespace hecto::config
