#include "config/file/load_filter_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/file/addresses.hpp"
#include "config/file/filter_words.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_rules.hpp"
#include "config/file/load_sets.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

constexpr unsigned kIpv4Bit = 1, kIpv6Bit = 2, kBothBits = 3;
constexpr uint8_t kIcmpProtocol = 1, kTcpProtocol = 6, kIcmp6Protocol = 58;
constexpr size_t kMostDeviceName = 15;  // IFNAMSIZ less its final 0

unsigned family_bit(Family family) {
  return family == Family::kIpv4 ? kIpv4Bit : kIpv6Bit;
}
const char* family_word(unsigned bits) {
  return bits == kIpv4Bit ? "IPv4" : "IPv6";
}

unsigned families_of(const PrefixSetConfig& set) {
  unsigned bits = 0;
  for (const auto* prefixes : {&set.prefixes, set.of_file.get()})
    if (prefixes != nullptr)
      for (const IpPrefix& prefix : *prefixes) {
        bits |= family_bit(prefix.address.family);
        if (bits == kBothBits) return bits;
      }
  return bits == 0 ? kBothBits : bits;
}

// "did you mean red?", what there is, or where to add one. A full report is spared the words.
template <typename Names>
void refuse_name(const Value& value, const Names& names, std::string_view what,
                 std::string_view none) {
  if (value.report().full()) return value.refuse({});
  std::vector<std::string_view> known;
  for (const auto& each : names)
    if constexpr (requires { each.first; })
      known.push_back(each.first);
    else
      known.push_back(each);
  value.refuse(fmt::format("is no {} of this file; {}", what,
                           known.empty() ? std::string(none) : instead(value.word(), known)));
}

bool is_device_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostDeviceName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
         });
}

std::optional<std::string> read_device(const Value& value, const FilterNames::Names& known,
                                       bool is_static, std::string_view what,
                                       std::string_view none) {
  const auto name = value.text(fmt::format("the name of one {}", what));
  if (!name || known.contains(*name)) return name;
  if (is_static) {
    refuse_name(value, known, what, none);
    return std::nullopt;
  }
  if (is_device_name(*name)) return name;
  value.refuse(fmt::format("is no {}'s name; use at most {} letters, digits and - _ .", what,
                           kMostDeviceName));
  return std::nullopt;
}

// --- parts of a rule ---

void read_rule_name(const Value& value, FilterRuleConfig& rule) {
  const auto name = value.text("a name, as ssh");
  if (!name) return;
  if (is_filter_name(*name))
    rule.name = *name;
  else
    value.refuse("is " + filter_name_words("rule"));
}

void read_end(const Value& value, const FilterNames& names, FilterEnd& end) {
  const std::string_view word = value.word();
  if (word == "any") return;
  if (names.sets.find(word) != names.sets.end()) {
    end.set = word;
  } else if (word.empty() || word.find_first_of(".:/") != std::string_view::npos) {
    end.prefix = read_selector(value);
  } else {
    refuse_name(value, names.sets, "set", "use a prefix, as 10.0.0.0/8, or add it under sets");
  }
}

void read_protocol_word(const Value& value, FilterRuleConfig& rule) {
  if (value.is_word("any")) return;
  if (const auto number = protocol_by_name(value.word()))
    rule.protocol = *number;
  else if (value.is_word("icmpv6"))
    rule.protocol = kIcmp6Protocol;
  else
    value.refuse(
        "is no protocol; use tcp, udp, icmp, icmpv6, sctp, gre, esp or another's number, 1 to 255");
}

// "7", or "2-5", both within the range.
std::optional<NumberSpan> read_span(const Value& value, const Range& range, std::string_view what) {
  const std::string_view text = value.word();
  const size_t dash = text.find('-');
  const auto first = parse_decimal(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_decimal(text.substr(dash + 1));
  if (!first || !last || *first < range.low || *first > range.high || *last > range.high)
    value.refuse(fmt::format("is no {}; use {} to {}, or a range as {}", what, range.low,
                             range.high, range.high > 255 ? "1000-2000" : "3-5"));
  else if (*first > *last)
    value.refuse(fmt::format("ends before it begins; use {}-{}", *last, *first));
  else
    return NumberSpan{static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)};
  return std::nullopt;
}

// `key`: ports or VLANs.
void add_numbers(const Value& value, const Key<FilterRuleConfig>& key, std::string_view what,
                 std::vector<PortSpan>& spans) {
  const auto span = read_span(value, key.range, what);
  if (!span) return;
  for (const PortSpan& other : spans)
    if (span->first <= other.last && other.first <= span->last)
      return value.refuse(fmt::format("has {}s that this list has already; name each once", what));
  spans.push_back({static_cast<uint16_t>(span->first), static_cast<uint16_t>(span->last)});
}

void read_numbers(const Value& value, const Key<FilterRuleConfig>& key, std::string_view what,
                  std::vector<PortSpan>& spans) {
  if (value.kind() != NodeKind::kList) return add_numbers(value, key, what, spans);
  const auto items = value.items(fmt::format("{}s, as [22, 1000-2000]", what), kMostPortSpans);
  if (items.empty() && !value.report().tells(value.path()))
    value.complain(fmt::format("no {}; name at least one", what));
  for (const Value& item : items) add_numbers(item, key, what, spans);
}

void read_ports(const Value& value, std::vector<PortSpan>& spans) {
  read_numbers(value, filter_rule_keys["sport"], "port", spans);
}

void read_tcp_flags(const Value& value, FilterRuleConfig& rule) {
  Fields fields(value, kTcpFlags, "flags, as {syn: true, ack: false}");
  for (size_t bit = 0; bit < kTcpFlags.size(); ++bit) {
    const Value* flag = fields.get(kTcpFlags[bit]);
    if (flag == nullptr) continue;
    const auto set = flag->boolean();
    if (!set) continue;
    rule.tcp_mask = static_cast<uint8_t>(rule.tcp_mask | 1u << bit);
    if (*set) rule.tcp_set = static_cast<uint8_t>(rule.tcp_set | 1u << bit);
  }
  if (rule.tcp_mask == 0 && value.kind() == NodeKind::kMap && !value.report().tells(value.path()))
    value.complain("no flag; name at least one, as {syn: true, ack: false}");
}

void read_rule_table(const Fields& fields, const FilterNames& names, FilterRuleConfig& rule,
                     Loading& loading) {
  const Value *table = fields.get("table"), *vrf = fields.get("vrf");
  if (table != nullptr) rule.table = read_table(*table, loading).value_or(0);
  if (vrf == nullptr) return;
  if (table != nullptr) vrf->complain("stands beside table; use one of them");
  const auto name = read_filter_vrf(*vrf, names);
  if (!name) return;
  rule.vrf = *name;
  for (const VrfConfig& known : loading.config.vrfs)
    if (known.name == *name) rule.table = known.table;
}

// --- what its parts are together ---

// Which families the rule is of, narrowed step by step, with the key that said so.
class Families {
 public:
  void narrow(unsigned bits, const Value* by, std::string_view key) {
    if (by == nullptr || bits == kBothBits) return;
    if ((bits_ & bits) != 0) {
      if (bits_ == kBothBits) key_ = key;
      bits_ &= bits;
    } else {
      by->refuse(fmt::format("is {}, and by {} the rule is {}'s; use one family", family_word(bits),
                             key_, family_word(bits_)));
    }
  }
  unsigned bits() const { return bits_; }
  bool one() const { return bits_ != kBothBits; }

 private:
  unsigned bits_ = kBothBits;
  std::string key_;
};

Families families_of(const Fields& fields, const FilterRuleConfig& rule) {
  Families families;
  if (rule.family != RuleFamily::kAuto)
    families.narrow(rule.family == RuleFamily::kIpv4 ? kIpv4Bit : kIpv6Bit, fields.get("family"),
                    "family");
  if (rule.from.prefix)
    families.narrow(family_bit(rule.from.prefix->address.family), fields.get("from"), "from");
  if (rule.to.prefix)
    families.narrow(family_bit(rule.to.prefix->address.family), fields.get("to"), "to");
  if (rule.protocol == kIcmp6Protocol)
    families.narrow(kIpv6Bit, fields.get("protocol"), "protocol");
  return families;
}

void check_sets(const Fields& fields, const FilterNames& names, const FilterRuleConfig& rule,
                Families& families) {
  for (const auto& [end, key] : {std::pair(&rule.from, "from"), std::pair(&rule.to, "to")})
    if (const auto found = names.sets.find(end->set); found != names.sets.end())
      families.narrow(found->second, fields.get(key), key);
}

// A number is one family's; a word may be both families'.
void read_icmp_type(const Value& value, FilterRuleConfig& rule, Families& families) {
  const bool is_icmp = rule.protocol == kIcmpProtocol || rule.protocol == kIcmp6Protocol;
  if (!is_icmp) return value.complain("needs the protocol; add protocol: icmp or icmpv6");
  const Range& range = filter_rule_keys["icmp_type"].range;
  const IcmpWord* word = icmp_by_name(value.word());
  if (word == nullptr) {
    const char first = value.word().empty() ? ' ' : value.word()[0];
    if (std::isdigit(static_cast<unsigned char>(first)) == 0)
      return value.refuse(fmt::format(
          "is no type of ICMP; use echo-request, echo-reply, unreachable, time-exceeded, "
          "parameter-problem, redirect, packet-too-big, neighbor-solicitation or another, or {} to "
          "{}",
          range.low, range.high));
    const auto span = read_span(value, range, "type of ICMP");
    if (span && !families.one())
      return value.refuse(
          "is another type in each family; add family: ipv4 or ipv6, or use a word, as "
          "echo-request");
    rule.icmp_type = span;
    return;
  }
  const unsigned has = (word->ipv4 >= 0 ? kIpv4Bit : 0) | (word->ipv6 >= 0 ? kIpv6Bit : 0);
  const bool was_one = families.one();
  families.narrow(has, &value, "icmp_type");
  if ((families.bits() & has) == 0) return;
  rule.icmp_both = !families.one();
  if (families.one() && !was_one)
    rule.family = has == kIpv4Bit ? RuleFamily::kIpv4 : RuleFamily::kIpv6;
  const auto type =
      static_cast<uint32_t>((families.bits() & kIpv4Bit) != 0 ? word->ipv4 : word->ipv6);
  rule.icmp_type = NumberSpan{type, type};
}

void read_icmp_code(const Value& value, const Fields& fields, FilterRuleConfig& rule) {
  rule.icmp_code = read_span(value, filter_rule_keys["icmp_code"].range, "code of ICMP");
  if (fields.get("icmp_type") == nullptr)
    return value.complain("needs the type; add icmp_type, as icmp_type: unreachable");
  if (!rule.icmp_type || !rule.icmp_code) return;
  if (rule.icmp_type->first != rule.icmp_type->last)
    return value.complain("is of one type, and there are several; use one icmp_type");
  constexpr uint32_t kUnreachable = 3, kRedirect = 5, kParameterProblem = 12;
  const uint32_t type = rule.icmp_type->first;
  const bool differ = type == kUnreachable || type == kRedirect || type == kParameterProblem;
  if (rule.icmp_both && differ && *rule.icmp_code != NumberSpan{0, 0})
    value.refuse("is another code in each family; add family: ipv4 or ipv6");
}

void check_rule_ports(const Fields& fields, const FilterRuleConfig& rule) {
  for (const char* key : {"sport", "dport"})
    if (const Value* ports = fields.get(key); ports != nullptr && !has_ports(rule.protocol))
      ports->complain(
          rule.protocol == 0
              ? "ports need the protocol; add protocol: tcp, udp, sctp, dccp or udplite"
              : "ports are of protocol tcp, udp, sctp, dccp or udplite; use one of these");
  if (const Value* flags = fields.get("tcp_flags");
      flags != nullptr && rule.protocol != kTcpProtocol)
    flags->complain(rule.protocol == 0 ? "needs the protocol; add protocol: tcp"
                                       : "flags are of protocol tcp; use that one");
  const size_t pairs = std::max<size_t>(rule.sources.size(), 1) * rule.destinations.size();
  if (pairs > kMostPortPairs)
    fields.get("dport")->complain(
        fmt::format("{} pairs with sport; use at most {}", pairs, kMostPortPairs));
}

// A packet that is dropped is not changed, sent elsewhere or held to a rate.
void check_verdict(const Fields& fields, const FilterRuleConfig& rule) {
  if (rule.verdict == FilterVerdict::kAccept) return;
  for (const char* key : {"police", "set_mark", "set_dscp", "table", "vrf"})
    if (const Value* value = fields.get(key); value != nullptr)
      value->complain(fmt::format("does nothing with action: {}; take one of both out",
                                  to_string(rule.verdict)));
}

// Whose prefix it is says a set.
void check_each(const Fields& fields, const FilterNames& names, const FilterRuleConfig& rule) {
  const Value* police = fields.get("police");
  const auto found = names.each.find(rule.police);
  if (police == nullptr || found == names.each.end()) return;
  if (!policed_end(rule, found->second).empty()) return;
  const char* const end = found->second == PoliceEach::kSource ? "from" : "to";
  const Value* const named = fields.get(end);
  if (named != nullptr && named->report().tells(named->path())) return;
  (named != nullptr ? named : police)
      ->complain(
          fmt::format("policer {} has each: {}, so {} is a set, whose prefixes have a bucket "
                      "each; name one under sets, or take each out of the policer",
                      rule.police, to_string(found->second), end));
}

}  // namespace

FilterNames::FilterNames(const Config& config, bool is_static) : is_static(is_static) {
  for (const PortConfig& port : config.ports) {
    ports.insert(port.name);
    interfaces.insert(port.name);
    for (const VlanConfig& vlan : port.vlans) interfaces.insert(interface_name(port.name, vlan));
  }
  for (const VrfConfig& vrf : config.vrfs) vrfs.insert(vrf.name);
  for (const PolicerConfig& policer : config.filters.policers) {
    policers.insert(policer.name);
    if (policer.each != PoliceEach::kNone) each.emplace(policer.name, policer.each);
  }
  for (const PrefixSetConfig& set : config.filters.sets) sets.emplace(set.name, families_of(set));
}

std::optional<std::string> read_filter_interface(const Value& value, const FilterNames& names) {
  return read_device(value, names.interfaces, names.is_static, "interface", "add a port");
}

std::optional<std::string> read_filter_vrf(const Value& value, const FilterNames& names) {
  return read_device(value, names.vrfs, names.is_static, "VRF",
                     "add it, as vrfs: {red: {table: 10}}");
}

FilterRuleConfig read_filter_rule(const Value& value, const FilterNames& names, Loading& loading) {
  FilterRuleConfig rule;
  Fields fields(value, filter_rule_keys.names, "a map, as {from: 10.0.0.0/8, action: drop}");
  struct Reading {
    const FilterNames& names;
    FilterRuleConfig& rule;
  } r{names, rule};
  const auto known = [](const Value& v, const auto& all, std::string_view what,
                        std::string_view none, std::string& name) {
    const auto text = v.text(fmt::format("the name of one {}", what));
    if (text && all.find(*text) == all.end()) return refuse_name(v, all, what, none);
    if (text) name = *text;
  };
  read_keys(
      fields, filter_rule_keys, rule,
      {{"name", [&r](const Value& v) { read_rule_name(v, r.rule); }},
       {"from", [&r](const Value& v) { read_end(v, r.names, r.rule.from); }},
       {"to", [&r](const Value& v) { read_end(v, r.names, r.rule.to); }},
       {"protocol", [&r](const Value& v) { read_protocol_word(v, r.rule); }},
       {"sport", [&r](const Value& v) { read_ports(v, r.rule.sources); }},
       {"dport", [&r](const Value& v) { read_ports(v, r.rule.destinations); }},
       {"tcp_flags", [&r](const Value& v) { read_tcp_flags(v, r.rule); }},
       {"dscp", [&r](const Value& v) { r.rule.dscp = read_dscp(v); }},
       {"length",
        [&r](const Value& v) {
          r.rule.length = read_span(v, filter_rule_keys["length"].range, "length");
        }},
       {"iif",
        [&r](const Value& v) {
          r.rule.iif = read_filter_interface(v, r.names).value_or(std::string());
        }},
       {"vlan",
        [&r](const Value& v) { read_numbers(v, filter_rule_keys["vlan"], "VLAN", r.rule.vlans); }},
       {"police",
        [&r, &known](const Value& v) {
          known(v, r.names.policers, "policer",
                "add it, as policers: {pings: {rate: 1Mbps, burst: 64kB}}", r.rule.police);
        }},
       {"set_dscp", [&r](const Value& v) { r.rule.set_dscp = read_dscp(v); }},
       {"vrf", {}},
       {"mirror", [&r, &known](const Value& v) {
          known(v, r.names.ports, "port", "add it", r.rule.mirror);
        }}});
  read_rule_table(fields, names, rule, loading);
  Families families = families_of(fields, rule);
  const Value* protocol = fields.get("protocol");
  const bool known_protocol = protocol == nullptr || !value.report().tells(protocol->path());
  if (const Value* type = fields.get("icmp_type"); type != nullptr && known_protocol)
    read_icmp_type(*type, rule, families);
  if (const Value* code = fields.get("icmp_code")) read_icmp_code(*code, fields, rule);
  check_sets(fields, names, rule, families);
  if (known_protocol) check_rule_ports(fields, rule);
  check_verdict(fields, rule);
  check_each(fields, names, rule);
  return rule;
}

}  // namespace hecto::config
