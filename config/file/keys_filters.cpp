// The keys of `sets`, `policers` and `filters`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/file/filter_words.hpp"
#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, size, bit_rate, boolean, word, text, structure
using namespace tables;  // what all tables have in common

constexpr std::string_view kEnd = "a prefix, as 10.0.0.0/8 or 2001:db8::/32, or a name under sets";
constexpr std::string_view kPortList =
    "a port from {low} to {high}, a range as 1000-2000, or a list of them";
constexpr std::string_view kDscpWords = "{low} to {high}, or ef, af11 to af43, cs0 to cs7, le";
constexpr std::string_view kNameList = "a list of names";

constexpr Range kPolicerRates = {8000, kMostPolicerRate_bps, "{low} to {high}, as 10Mbps"};
constexpr Range kBursts = {1500, uint64_t{4} << 30};  // a packet at least

std::string end_text(const FilterEnd& end) {
  if (end.prefix) return quoted(end.prefix->to_string());
  return end.set.empty() ? std::string() : quoted(end.set);
}

template <typename Span>
std::string span_text(const Span& span) {
  return span.first == span.last ? std::to_string(span.first)
                                 : fmt::format("{}-{}", span.first, span.last);
}
std::string span_text(const std::optional<NumberSpan>& span) {
  return span ? span_text(*span) : std::string();
}

std::string spans_text(const std::vector<PortSpan>& spans) {
  if (spans.empty()) return {};
  if (spans.size() == 1) return span_text(spans.front());
  std::vector<std::string> parts;
  for (const PortSpan& span : spans) parts.push_back(span_text(span));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string tcp_flags_text(const FilterRuleConfig& rule) {
  std::string out;
  for (size_t bit = 0; bit < kTcpFlags.size(); ++bit)
    if ((rule.tcp_mask >> bit & 1) != 0)
      out += fmt::format("{}{}: {}", out.empty() ? "{" : ", ", kTcpFlags[bit],
                         (rule.tcp_set >> bit & 1) != 0);
  return out.empty() ? out : out + "}";
}

std::string icmp_type_text(const FilterRuleConfig& rule) {
  if (!rule.icmp_type) return {};
  const auto& [first, last] = *rule.icmp_type;
  const bool ipv4 = rule.holds_for(lookup::Family::kIpv4);
  const IcmpWord* word =
      first == last ? icmp_by_type(ipv4, rule.icmp_both || !ipv4, first) : nullptr;
  return word != nullptr ? std::string(word->name) : span_text(rule.icmp_type);
}

std::string optional_dscp_text(const std::optional<uint8_t>& dscp) {
  return dscp ? dscp_text(*dscp) : std::string();
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::vector<std::string> parts;
  for (const std::string& name : names) parts.push_back(quoted(name));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// clang-format off
constexpr Key<PrefixSetConfig> kSets[] = {
  structure<PrefixSetConfig>("prefixes", "list", "[]",
      {0, kMostSetPrefixes, "at most {high} prefixes of both families, those of the file with them"}, kReload,
      "What stands in this file.")
      .printed([](const PrefixSetConfig& s) {
        return s.prefixes.empty() ? std::string() : addresses_text(s.prefixes);
      }),
  structure<PrefixSetConfig>("file", "text", "none",
      {0, 0, "a file name, taken from this file's folder"}, kReload,
      "A file with more: one prefix a line, comments behind # or ;. A reload reads it again.")
      .printed([](const PrefixSetConfig& s) { return s.file.empty() ? s.file : quoted(s.file); }),
};

constexpr Key<PolicerConfig> kPolicers[] = {
  bit_rate<&PolicerConfig::rate_bps>("rate", kPolicerRates, kReload,
      "Committed rate, of IP packets.")
      .needed("bits a second, as rate: 10Mbps").otherwise("none"),
  size<&PolicerConfig::burst_bytes>("burst", kBursts, kReload,
      "What may come at once within the rate, bytes.")
      .needed("bytes that may come at once, as burst: 64kB").otherwise("none"),
  size<&PolicerConfig::excess_bytes>("excess_burst", kBursts, kReload,
      "What may come at once beyond `burst`, and is yellow: RFC 2697; RFC 4115 with `excess_rate`.")
      .otherwise("none").if_changed(),
  bit_rate<&PolicerConfig::peak_bps>("peak_rate", kPolicerRates, kReload,
      "RFC 2698: what is between both rates is yellow. With `peak_burst`.")
      .otherwise("none").if_changed(),
  size<&PolicerConfig::peak_burst_bytes>("peak_burst", kBursts, kReload,
      "What may come at once within `peak_rate`.")
      .otherwise("none").if_changed(),
  bit_rate<&PolicerConfig::excess_bps>("excess_rate", kPolicerRates, kReload,
      "RFC 4115: how fast `excess_burst` fills again.")
      .otherwise("none").if_changed(),
  structure<PolicerConfig>("yellow", "word or integer", "passes as it is",
      {0, 63, "drop, or a DSCP: {low} to {high}, or ef, af11 to af43, cs0 to cs7, le"}, kReload,
      "What becomes of yellow packets. Those beyond (red) are dropped.")
      .printed([](const PolicerConfig& p) {
        return p.drops_yellow ? "drop" : optional_dscp_text(p.yellow_dscp);
      }),
  structure<PolicerConfig>("in", "list", "[]", {0, 0, kNameList}, kReload,
      "Interfaces: all that comes in by them is held to it, by no rule; each has a bucket of its own.")
      .printed([](const PolicerConfig& p) { return names_text(p.in); }),
  structure<PolicerConfig>("out", "list", "[]", {0, 0, kNameList}, kReload,
      "The same, for what leaves by them.")
      .printed([](const PolicerConfig& p) { return names_text(p.out); }),
  word<&PolicerConfig::each>("each", kReload,
      "A bucket for each prefix of the set that a rule names as `from` (source) or `to`: the longest that the "
      "address is in.").if_changed(),
};

constexpr Key<FilterConfig> kFilters[] = {
  structure<FilterConfig>("in", "list", "[]", {0, 0, kNameList}, kReload,
      "Interfaces that packets come in by.")
      .printed([](const FilterConfig& f) { return names_text(f.in); }),
  structure<FilterConfig>("out", "list", "[]", {0, 0, kNameList}, kReload,
      "Interfaces that they leave by.")
      .printed([](const FilterConfig& f) { return names_text(f.out); }),
  structure<FilterConfig>("vrfs", "list", "[]", {0, 0, kNameList}, kReload,
      "VRFs: all that comes in by interfaces of theirs.")
      .printed([](const FilterConfig& f) { return names_text(f.vrfs); }),
  boolean<&FilterConfig::local>("local", kReload,
      "What goes to Linux because it is for the router itself.").if_changed(),
  word<&FilterConfig::otherwise>("otherwise", kReload,
      "What becomes of packets that no rule holds for."),
  structure<FilterConfig>("rules", "list", "[]",
      {0, kMostFilterRules, "at most {high} rules in all filters, each a map with the keys below"}, kReload,
      "The first one that holds decides."),
};

constexpr Key<FilterRuleConfig> kFilterRules[] = {
  text<&FilterRuleConfig::name>("name",
      {1, kMostFilterName, "at most {high} letters, digits, - and _, a letter first"}, kReload,
      "What it is called where it is shown.").otherwise("its number"),
  word<&FilterRuleConfig::family>("family", kReload,
      "auto: that of what it asks for, else both.").if_changed(),
  structure<FilterRuleConfig>("from", "text", "any", {0, 0, kEnd}, kReload,
      "Source addresses of the packets.")
      .printed([](const FilterRuleConfig& r) { return end_text(r.from); }),
  structure<FilterRuleConfig>("to", "text", "any", {0, 0, kEnd}, kReload,
      "Destination addresses.")
      .printed([](const FilterRuleConfig& r) { return end_text(r.to); }),
  structure<FilterRuleConfig>("protocol", "word or integer", "any",
      {1, 255, "tcp, udp, icmp, icmpv6, sctp, gre, esp, ... or {low} to {high}"}, kReload,
      "Their protocol. icmp is that of both families.")
      .printed([](const FilterRuleConfig& r) {
        return r.protocol == 0 ? std::string() : protocol_text(r.protocol);
      }),
  structure<FilterRuleConfig>("sport", "integer or list", "any", {0, 65535, kPortList}, kReload,
      "Source ports, of protocols that have them.")
      .printed([](const FilterRuleConfig& r) { return spans_text(r.sources); }),
  structure<FilterRuleConfig>("dport", "integer or list", "any", {0, 65535, kPortList}, kReload,
      "Destination ports, likewise.")
      .printed([](const FilterRuleConfig& r) { return spans_text(r.destinations); }),
  structure<FilterRuleConfig>("tcp_flags", "map", "any",
      {0, 0, "fin, syn, rst, psh, ack, urg, ece, cwr, as {syn: true, ack: false}"}, kReload,
      "Flags that are set, or not.")
      .printed(tcp_flags_text),
  structure<FilterRuleConfig>("icmp_type", "word or integer", "any",
      {0, 255, "echo-request, unreachable, packet-too-big, ..., {low} to {high}, or a range of these"}, kReload,
      "Of icmp and icmpv6; a word that both families have stands for both.")
      .printed(icmp_type_text),
  structure<FilterRuleConfig>("icmp_code", "integer", "any",
      {0, 255, "{low} to {high}, or a range of these"}, kReload,
      "With `icmp_type`.")
      .printed([](const FilterRuleConfig& r) { return span_text(r.icmp_code); }),
  word<&FilterRuleConfig::fragments>("fragments", kReload,
      "none: whole packets. fragment: first or later. Later ones have no ports, so what asks for ports, "
      "flags or an ICMP type does not hold for them.").if_changed(),
  structure<FilterRuleConfig>("dscp", "word or integer", "any", {0, 63, kDscpWords}, kReload,
      "DSCP of the packets (RFC 2474).")
      .printed([](const FilterRuleConfig& r) { return optional_dscp_text(r.dscp); }),
  structure<FilterRuleConfig>("length", "integer", "any",
      {0, 65535, "{low} to {high}, or a range of these"}, kReload,
      "Length of the IP packet, bytes.")
      .printed([](const FilterRuleConfig& r) { return span_text(r.length); }),
  text<&FilterRuleConfig::iif>("iif", {0, 0, "an interface, as PORT, PORT.ID"}, kReload,
      "The interface that they came in by.").otherwise("any"),
  structure<FilterRuleConfig>("vlan", "integer or list", "any",
      {1, 4094, "a VLAN from {low} to {high}, a range as 100-199, or a list of them"}, kReload,
      "The tag that they came in with; of two the outer one.")
      .printed([](const FilterRuleConfig& r) { return spans_text(r.vlans); }),
  integer<&FilterRuleConfig::mark>("mark", {0, kMost32}, kReload,
      "What an earlier filter gave them by `set_mark`.").otherwise("any"),
  word<&FilterRuleConfig::verdict>("action", kReload,
      "reject: dropped, and the sender is told.").if_changed(),
  text<&FilterRuleConfig::police>("police", {0, 0, "a name under policers"}, kReload,
      "The rate that they are held to; what exceeds it is dropped.").otherwise("none"),
  integer<&FilterRuleConfig::set_mark>("set_mark", {0, kMost32}, kReload,
      "A number that the packet has from here on, for filters behind this one and for policy rules (fwmark)."),
  structure<FilterRuleConfig>("set_dscp", "word or integer", "none", {0, 63, kDscpWords}, kReload,
      "The DSCP that it leaves with.")
      .printed([](const FilterRuleConfig& r) { return optional_dscp_text(r.set_dscp); }),
  structure<FilterRuleConfig>("table", "integer", "none",
      {1, kMost32, "main, or {low} to {high} but 253 and 255"}, kReload,
      "It is looked up in this table, and nowhere else. With `in` and `vrfs` alone.")
      .printed([](const FilterRuleConfig& r) {
        return r.table == 0 || !r.vrf.empty() ? std::string() : table_words(r.table);
      }),
  text<&FilterRuleConfig::vrf>("vrf", {0, 0, "a VRF's name"}, kReload,
      "The same, in the VRF's table.").otherwise("none"),
  boolean<&FilterRuleConfig::log>("log", kReload,
      "Told in the log: a line a flow and ten seconds, so many a second.").if_changed(),
  integer<&FilterRuleConfig::sample>("sample", {1, 16'777'216}, kReload,
      "One in so many goes to sFlow.").otherwise("none").if_changed(),
  text<&FilterRuleConfig::mirror>("mirror", {0, 0, "a name under ports"}, kReload,
      "A port that gets a copy.").otherwise("none"),
};
// clang-format on

}  // namespace

constinit const Section<PrefixSetConfig> set_keys = section<kSets>("sets.*");
constinit const Section<PolicerConfig> policer_keys = section<kPolicers>("policers.*");
constinit const Section<FilterConfig> filter_keys = section<kFilters>("filters.*");
constinit const Section<FilterRuleConfig> filter_rule_keys =
    section<kFilterRules>("filters.*.rules.*");

}  // namespace hecto::config
