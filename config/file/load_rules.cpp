#include "config/file/load_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "config/file/addresses.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

constexpr uint32_t kDefaultTable = 253, kLocalTable = 255;
constexpr size_t kMaxVrfName = 15;  // IFNAMSIZ less its final 0: Linux has VRFs as devices
constexpr Family kFamilies[] = {Family::kIpv4, Family::kIpv6};

const char* family_name(Family family) {
  return family == Family::kIpv4 ? "IPv4" : "IPv6";
}

// One line for all of them: the file has VRFs and rules, or Linux has.
void refuse_beside_linux(const Value& value, Loading& loading) {
  if (loading.static_mode || std::exchange(loading.told_of_linux, true)) return;
  value.complain(
      "VRFs and rules are Linux's while there is a Linux side (ip link add red type vrf table 10, "
      "ip "
      "link set lan0 master red, ip rule add ..., in its namespace), and hectod follows; take them "
      "out, or write linux: off");
}

bool is_vrf_name(const std::string& name) {
  static constexpr std::string_view kWords[] = {"main", "local", "default", "all", "lo",
                                                "auto", "off",   "none",    "any"};
  if (name.empty() || name.size() > kMaxVrfName) return false;
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords)) return false;
  return std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

void check_vrf_table(const Value& value, const VrfConfig& vrf, const Config& config) {
  if (vrf.table >= kDefaultTable && vrf.table <= kLocalTable)
    return value.refuse(
        "is the default, main or local table, of all that is in no VRF; use another");
  for (const VrfConfig& other : config.vrfs)
    if (vrf.table != 0 && other.table == vrf.table)
      return value.refuse(fmt::format("is the table of VRF {} already; use another", other.name));
}

// What `iif` may name, and the VRF that an interface is in, if any.
std::map<std::string, std::string, std::less<>> interfaces_and_vrfs(const Config& config) {
  std::map<std::string, std::string, std::less<>> names;
  for (const PortConfig& port : config.ports) {
    names[port.name] = port.vrf;
    for (const VlanConfig& vlan : port.vlans) names[interface_name(port.name, vlan)] = vlan.vrf;
  }
  for (const VrfConfig& vrf : config.vrfs) names[vrf.name] = {};
  return names;
}

void read_iif(const Value& value, RuleConfig& rule, const Config& config) {
  const auto name = value.text("a port, PORT.ID, or a VRF");
  if (!name) return;
  rule.iif = *name;
  const auto vrfs = interfaces_and_vrfs(config);
  if (vrfs.contains(*name)) return;
  std::vector<std::string_view> names;
  for (const auto& [known, vrf] : vrfs) names.push_back(known);
  value.refuse(
      fmt::format("is neither an interface nor a VRF of this file; {}", instead(*name, names)));
}

// vrf_ip6_rcv(): to IPv6's rules a packet came in by the VRF.
void check_iif_of_vrf(const Value& iif, const RuleConfig& rule, const Config& config) {
  const auto vrfs = interfaces_and_vrfs(config);
  const auto found = vrfs.find(rule.iif);
  if (found == vrfs.end() || found->second.empty() || !rule.holds_for(Family::kIpv6)) return;
  iif.refuse(
      fmt::format("is in VRF {}, and IPv6 packets come in by a VRF, as in Linux; use iif: {}{}",
                  found->second, found->second, rule.from || rule.to ? "" : ", or family: ipv4"));
}

void read_ipproto(const Value& value, RuleConfig& rule) {
  const auto& [low, high, words] = rule_keys["ipproto"].range;
  if (const auto number = protocol_by_name(value.word()))
    rule.ip_protocol = *number;
  else
    value.refuse(
        fmt::format("is no protocol; use tcp, udp, sctp, icmp, icmp6 or another's number, {} to {}",
                    low, high));
}

void read_port_span(const Value& value, std::optional<PortSpan>& ports) {
  const std::string_view text = value.word();
  const size_t dash = text.find('-');
  const auto first = parse_decimal(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_decimal(text.substr(dash + 1));
  const auto& [low, high, words] = rule_keys["sport"].range;
  if (!first || !last || *first < low || *last > high)
    value.refuse(fmt::format("is not a port; use {} to {}, or a range as 1000-2000", low, high));
  else if (*first > *last)
    value.refuse(fmt::format("ends before it begins; use {}-{}", *last, *first));
  else
    ports = {static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

void check_family(const Fields& fields, const RuleConfig& rule) {
  if (rule.from && rule.to && rule.from->address.family != rule.to->address.family)
    fields.get("to")->refuse("is not of the family of from; use two prefixes of one family");
  const std::optional<IpPrefix>& prefix = rule.from ? rule.from : rule.to;
  if (!prefix || rule.family == RuleFamily::kAuto) return;
  const Family wanted = rule.family == RuleFamily::kIpv4 ? Family::kIpv4 : Family::kIpv6;
  if (prefix->address.family != wanted)
    fields.get("family")->refuse(
        fmt::format("is not that of {}; leave it out", prefix->to_string()));
}

// Exactly one of those that say what becomes of a packet.
void check_action(const Value& value, const Fields& fields, const RuleConfig& rule) {
  const Value* found = nullptr;
  for (const char* key : {"table", "vrf", "goto", "action"}) {
    const Value* other = fields.get(key);
    if (other == nullptr) continue;
    if (found != nullptr)
      other->complain("a second thing to do with a packet; use one of table, vrf, goto and action");
    found = other;
  }
  if (found == nullptr)
    value.complain("does nothing; add table, vrf, goto or action, as table: 100");
  const bool all = !rule.from && !rule.to && rule.iif.empty() && !rule.dscp &&
                   rule.ip_protocol == 0 && !rule.sources && !rule.destinations;
  if (const Value* invert = fields.get("not"); rule.invert && all && invert != nullptr)
    invert->complain(
        "holds for no packet, as nothing is excepted; add from, to or another of them");
}

// Of one family: by priority, where it stands in the file.
using Priorities = std::map<uint32_t, Value>;

bool is_taken(uint32_t priority, Family family, bool vrfs) {
  if (priority == kMainPriority) return true;
  if (priority == kDefaultPriority) return family == Family::kIpv4;
  return vrfs &&
         (priority == kVrfPriority || priority == kVrfEndPriority || priority == kLocalPriority);
}

void check_priority(const Value& value, const RuleConfig& rule, bool vrfs,
                    Priorities (&priorities)[2]) {
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    if (!rule.holds_for(kFamilies[i])) continue;
    if (is_taken(rule.priority, kFamilies[i], vrfs))
      return value.refuse(fmt::format(
          "is that of a rule which is there by itself; use another than {}{} and {}",
          vrfs ? fmt::format("{}, {}, {}, ", kVrfPriority, kVrfEndPriority, kLocalPriority) : "",
          kMainPriority, kDefaultPriority));
    const auto [at, fresh] = priorities[i].emplace(rule.priority, value);
    if (!fresh)
      return value.refuse(fmt::format("is that of the {} rule on line {} already; use another",
                                      family_name(kFamilies[i]), at->second.line()));
  }
}

struct Jump {
  RuleConfig rule;
  Value value;
};

void check_jump(const Jump& jump, bool vrfs, const Priorities (&priorities)[2]) {
  const uint32_t target = *jump.rule.target;
  if (target <= jump.rule.priority)
    return jump.value.refuse(
        fmt::format("goes back, to where packets would come round again; use a priority above {}",
                    jump.rule.priority));
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    if (!jump.rule.holds_for(kFamilies[i]) || priorities[i].contains(target) ||
        is_taken(target, kFamilies[i], vrfs))
      continue;
    const auto next = priorities[i].upper_bound(jump.rule.priority);
    return jump.value.refuse(
        fmt::format("is the priority of no {} rule; use {}", family_name(kFamilies[i]),
                    next == priorities[i].end() ? kMainPriority : next->first));
  }
}

RuleConfig read_rule(const Value& value, const Fields& fields, Loading& loading) {
  RuleConfig rule;
  read_keys(fields, rule_keys, rule,
            {{"from", [&](const Value& v) { rule.from = read_selector(v); }},
             {"to", [&](const Value& v) { rule.to = read_selector(v); }},
             {"iif", [&](const Value& v) { read_iif(v, rule, loading.config); }},
             {"ipproto", [&](const Value& v) { read_ipproto(v, rule); }},
             {"sport", [&](const Value& v) { read_port_span(v, rule.sources); }},
             {"dport", [&](const Value& v) { read_port_span(v, rule.destinations); }},
             {"table",
              [&](const Value& v) {
                if (const auto table = read_table(v, loading)) rule.table = *table;
              }},
             {"vrf", [&](const Value& v) {
                if (const VrfConfig* vrf = read_vrf(v, loading)) {
                  rule.vrf = vrf->name;
                  rule.table = vrf->table;
                }
              }}});
  check_family(fields, rule);
  if (!rule.iif.empty()) check_iif_of_vrf(*fields.get("iif"), rule, loading.config);
  check_action(value, fields, rule);
  return rule;
}

// Which of a packet's ways back a rule by interface would choose only Linux knows.
void check_urpf(const std::vector<Value>& by_interface, Loading& loading) {
  if (by_interface.empty()) return;
  for (const PortConfig& port : loading.config.ports) {
    bool checked = port.urpf != UrpfMode::kOff;
    for (const VlanConfig& vlan : port.vlans) checked |= vlan.urpf != UrpfMode::kOff;
    if (checked)
      return by_interface.front().refuse(
          fmt::format("chooses by an interface, and port {} has urpf, which does not know by which "
                      "its way back would come; use one of the two",
                      port.name));
  }
}

}  // namespace

std::string instead(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  constexpr size_t kMost = 8;
  const std::vector<std::string_view> some(known.begin(),
                                           known.begin() + std::min(known.size(), kMost));
  return fmt::format("use {}{}", fmt::join(some, ", "), known.size() > kMost ? ", ..." : "");
}

void load_vrfs(const Value& value, Loading& loading) {
  Config& config = loading.config;
  const auto entries =
      value.entries("VRFs by name, as {red: {table: 10}}", file_keys["vrfs"].range.high);
  if (!entries.empty()) refuse_beside_linux(value, loading);
  for (const Value::Entry& entry : entries) {
    if (!is_vrf_name(entry.key)) {
      entry.value.complain(
          fmt::format("not a VRF's name; use at most {} letters, digits, - and _, a letter first",
                      kMaxVrfName));
      continue;
    }
    Fields fields(entry.value, vrf_keys.names, "a map, as {table: 10}");
    VrfConfig vrf;
    vrf.name = entry.key;
    read_keys(fields, vrf_keys, vrf);
    if (const Value* table = fields.get("table")) check_vrf_table(*table, vrf, config);
    config.vrfs.push_back(std::move(vrf));
  }
}

const VrfConfig* read_vrf(const Value& value, Loading& loading) {
  const auto name = value.text("a VRF of this file, as red");
  if (!name) return nullptr;
  std::vector<std::string_view> names;
  for (const VrfConfig& vrf : loading.config.vrfs) {
    if (vrf.name == *name) return &vrf;
    names.push_back(vrf.name);
  }
  if (names.empty()) refuse_beside_linux(value, loading);
  if (names.empty() && loading.static_mode)
    value.refuse("is no VRF, as the file has none; add it, as vrfs: {red: {table: 10}}");
  else if (!names.empty())
    value.refuse(fmt::format("is no VRF of this file; {}", instead(*name, names)));
  return nullptr;
}

std::optional<uint32_t> read_table(const Value& value, const Loading& loading) {
  if (value.is_word("main")) return kMainTable;
  for (const VrfConfig& vrf : loading.config.vrfs)
    if (value.is_word(vrf.name)) {
      value.refuse(fmt::format("is a VRF's name; use vrf: {}", vrf.name));
      return std::nullopt;
    }
  const auto& [low, high, words] = rule_keys["table"].range;
  const auto table = value.integer(low, high);
  if (!table || (*table != kDefaultTable && *table != kLocalTable))
    return table ? std::optional(static_cast<uint32_t>(*table)) : std::nullopt;
  value.refuse(fmt::format("is the {} table, which has no routes of the file; use main or another",
                           *table == kLocalTable ? "local" : "default"));
  return std::nullopt;
}

void load_rules(const Value& value, Loading& loading) {
  const auto items = value.items("a list, as [{priority: 100, from: 10.0.0.0/8, table: 100}]",
                                 file_keys["rules"].range.high);
  if (!items.empty()) refuse_beside_linux(value, loading);
  const bool vrfs = !loading.config.vrfs.empty();
  Priorities priorities[2];
  std::vector<Jump> jumps;
  std::vector<Value> by_interface;
  for (const Value& item : items) {
    Fields fields(item, rule_keys.names, "a map, as {priority: 100, from: 10.0.0.0/8, table: 100}");
    RuleConfig rule = read_rule(item, fields, loading);
    if (const Value* priority = fields.get("priority"); priority != nullptr && rule.priority != 0)
      check_priority(*priority, rule, vrfs, priorities);
    if (rule.target) jumps.push_back({rule, *fields.get("goto")});
    if (!rule.iif.empty()) by_interface.push_back(*fields.get("iif"));
    loading.config.rules.push_back(std::move(rule));
  }
  for (const Jump& jump : jumps) check_jump(jump, vrfs, priorities);
  check_urpf(by_interface, loading);
}

void check_tables(Loading& loading) {
  std::set<uint32_t> tables;
  for (const VrfConfig& vrf : loading.config.vrfs) tables.insert(vrf.table);
  for (const RuleConfig& rule : loading.config.rules) tables.insert(rule.table);
  for (const RouteConfig& route : loading.config.routes) tables.insert(route.table);
  tables.erase(0);
  tables.erase(kMainTable);
  if (tables.size() > kMostTables)
    loading.report.add("routes",
                       fmt::format("{} tables beside main, of VRFs, rules and routes; use "
                                   "at most {}",
                                   tables.size(), kMostTables));
}

}  // namespace hecto::config
