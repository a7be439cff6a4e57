#include "config/file/flow_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "config/file/ipsec.hpp"

namespace hecto::config {
namespace {

using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;
using Part = FlowReader::Part;

constexpr uint8_t kTcp = 6, kUdp = 17, kDccp = 33, kSctp = 132, kUdpLite = 136, kIcmp = 1,
                  kFlowIcmp6 = 58;
constexpr uint32_t kMostFlowSeconds = 1'000'000'000;

struct WordInfo {
  std::string_view key;
  Part part;
};
constexpr WordInfo kWords[] = {
    {"interface", Part::kMatch}, {"family", Part::kMatch},     {"from", Part::kMatch},
    {"to", Part::kMatch},        {"protocol", Part::kMatch},   {"sport", Part::kMatch},
    {"dport", Part::kMatch},     {"icmp_type", Part::kMatch},  {"icmp_code", Part::kMatch},
    {"tcp_flags", Part::kMatch}, {"dscp", Part::kMatch},       {"mark", Part::kMatch},
    {"priority", Part::kEntry},  {"idle_s", Part::kEntry},     {"hard_s", Part::kEntry},
    {"accept", Part::kAction},   {"drop", Part::kAction},      {"output", Part::kAction},
    {"mac", Part::kAction},      {"ttl", Part::kAction},       {"set_from", Part::kAction},
    {"set_to", Part::kAction},   {"set_sport", Part::kAction}, {"set_dport", Part::kAction},
    {"set_dscp", Part::kAction}, {"set_mark", Part::kAction},
};
constexpr std::string_view kFlags[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

tl::unexpected<std::string> flow_wrong(std::string line) {
  return tl::unexpected<std::string>(std::move(line));
}

std::string cut_word(std::string_view word) {
  return fmt::format("\"{}\"", word.size() > 60 ? word.substr(0, 57) : word);
}

FlowParsed<uint32_t> number_of(std::string_view key, std::string_view value, uint32_t most) {
  uint32_t number = 0;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, number);
  if (error != std::errc() || end != last || number > most)
    return flow_wrong(
        fmt::format("{}: {} is out of range; use 0 to {}", key, cut_word(value), most));
  return number;
}

FlowParsed<void> read_number(std::string_view key, std::string_view value, uint32_t most,
                             uint32_t& into) {
  const auto number = number_of(key, value, most);
  if (!number) return tl::unexpected(number.error());
  into = *number;
  return {};
}
template <typename T>
FlowParsed<void> read_number(std::string_view key, std::string_view value, uint32_t most,
                             std::optional<T>& into) {
  const auto number = number_of(key, value, most);
  if (!number) return tl::unexpected(number.error());
  into = static_cast<T>(*number);
  return {};
}

FlowParsed<void> read_flags(std::string_view value, FlowMatch& match) {
  for (size_t at = 0; at <= value.size();) {
    const size_t comma = std::min(value.find(',', at), value.size());
    std::string_view word = value.substr(at, comma - at);
    const bool unset = word.starts_with('!');
    if (unset) word.remove_prefix(1);
    const auto flag = std::find(std::begin(kFlags), std::end(kFlags), word);
    if (flag == std::end(kFlags))
      return flow_wrong(fmt::format("tcp_flags: {} is no flag; use some of {}, as syn,!ack",
                                    cut_word(word), fmt::join(kFlags, ", ")));
    const auto bit = static_cast<uint8_t>(1u << (flag - std::begin(kFlags)));
    match.tcp_mask |= bit;
    if (!unset) match.tcp_set |= bit;
    at = comma + 1;
  }
  return {};
}

bool has_rewritable_ports(uint8_t protocol) {
  return protocol == kTcp || protocol == kUdp || protocol == kDccp || protocol == kUdpLite;
}
bool is_unicast(const IpAddress& address) {
  const uint8_t first = address.bytes[0];
  const bool none = std::all_of(address.bytes.begin(), address.bytes.end(),
                                [](uint8_t byte) { return byte == 0; });
  return !none && (address.family == Family::kIpv4 ? first < 224 && first != 127 && first != 0
                                                   : first != 0xff);
}

FlowParsed<void> check_flow(const FlowConfig& flow) {
  const FlowMatch& match = flow.match;
  const FlowActions& actions = flow.actions;
  const bool ipv4 = match.family == Family::kIpv4;
  const bool icmp = match.protocol == (ipv4 ? kIcmp : kFlowIcmp6);
  const bool ports = has_rewritable_ports(match.protocol) || match.protocol == kSctp;
  if ((match.sport || match.dport) && !ports)
    return flow_wrong("sport, dport: go with protocol tcp, udp, sctp, dccp or udplite");
  if ((match.icmp_type || match.icmp_code) && !icmp)
    return flow_wrong(
        fmt::format("icmp_type, icmp_code: go with protocol {}", ipv4 ? "icmp" : "icmp6"));
  if (match.tcp_mask != 0 && match.protocol != kTcp)
    return flow_wrong("tcp_flags: goes with protocol tcp");
  if (flow.actions.verdict != FlowVerdict::kOutput && (actions.mac || actions.decrement_ttl))
    return flow_wrong("mac, ttl: go with output; what is routed gets both from its next hop");
  if (actions.verdict == FlowVerdict::kDrop && (actions.from || actions.to || actions.sport ||
                                                actions.dport || actions.dscp || actions.mark))
    return flow_wrong("drop: stands alone");
  if ((actions.sport || actions.dport) && !has_rewritable_ports(match.protocol))
    return flow_wrong("set_sport, set_dport: go with protocol tcp, udp, dccp or udplite");
  for (const auto& [key, address] :
       {std::pair("set_from", &actions.from), {"set_to", &actions.to}}) {
    if (!*address) continue;
    if ((*address)->family != match.family)
      return flow_wrong(fmt::format("{}: {} is not of the entry's family; use an {} address", key,
                                    (*address)->to_string(), ipv4 ? "IPv4" : "IPv6"));
    if (!is_unicast(**address))
      return flow_wrong(fmt::format("{}: {} is no unicast address; use one like {}", key,
                                    (*address)->to_string(), ipv4 ? "192.0.2.1" : "2001:db8::1"));
  }
  return {};
}

}  // namespace

bool FlowReader::knows(std::string_view key, Part part) {
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const WordInfo& word) { return word.key == key && word.part == part; });
}

bool FlowReader::takes_value(std::string_view key) {
  return key != "accept" && key != "drop";
}

std::string FlowReader::known(Part part) {
  std::vector<std::string_view> keys;
  for (const WordInfo& word : kWords)
    if (word.part == part) keys.push_back(word.key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

FlowParsed<void> FlowReader::put(std::string_view key, std::string_view value) {
  if (key == "priority") flow_.priority_given = true;
  if (key == "priority") return read_number(key, value, UINT32_MAX, flow_.priority);
  if (key == "idle_s") return read_number(key, value, kMostFlowSeconds, flow_.idle_s);
  if (key == "hard_s") return read_number(key, value, kMostFlowSeconds, flow_.hard_s);
  if (knows(key, Part::kMatch)) return put_match(key, value);
  if (knows(key, Part::kAction)) return put_action(key, value);
  std::vector<std::string_view> keys;
  for (const WordInfo& word : kWords) keys.push_back(word.key);
  const std::string_view near = nearest(key, keys);
  return flow_wrong(
      near.empty()
          ? fmt::format("{} is not known here; use {}", cut_word(key), fmt::join(keys, ", "))
          : fmt::format("{} is not known here; did you mean {}?", cut_word(key), near));
}

FlowParsed<void> FlowReader::put_match(std::string_view key, std::string_view value) {
  FlowMatch& match = flow_.match;
  if (key == "interface") {
    if (value.empty() || value.size() > 64)
      return flow_wrong(
          fmt::format("interface: {} is no name; use one like wan0", cut_word(value)));
    match.interface = value;
    return {};
  }
  if (key == "family") {
    if (value != "ipv4" && value != "ipv6")
      return flow_wrong(fmt::format("family: {} is none; use ipv4 or ipv6", cut_word(value)));
    const Family family = value == "ipv4" ? Family::kIpv4 : Family::kIpv6;
    if (has_family_ && match.family != family)
      return flow_wrong("family: an address is of the other one; leave family out");
    match.family = family;
    has_family_ = true;
    return {};
  }
  if (key == "from" || key == "to") {
    auto prefix = IpPrefix::parse(std::string(value));
    if (!prefix)
      return flow_wrong(fmt::format(
          "{}: {} is no address or prefix, or has host bits; use one like 10.0.0.1 or 10.0.0.0/8",
          key, cut_word(value)));
    if (has_family_ && match.family != prefix->address.family)
      return flow_wrong(fmt::format("{}: {} is not of the entry's family", key, cut_word(value)));
    match.family = prefix->address.family;
    has_family_ = true;
    (key == "from" ? match.from : match.to) = *prefix;
    return {};
  }
  if (key == "protocol") {
    const auto protocol = protocol_by_name(value);
    if (!protocol || *protocol == 0)
      return flow_wrong(
          fmt::format("protocol: {} is none; use tcp, udp, icmp, icmp6 or a number, 1 to 255",
                      cut_word(value)));
    match.protocol = *protocol;
    return {};
  }
  if (key == "sport") return read_number(key, value, 65535, match.sport);
  if (key == "dport") return read_number(key, value, 65535, match.dport);
  if (key == "icmp_type") return read_number(key, value, 255, match.icmp_type);
  if (key == "icmp_code") return read_number(key, value, 255, match.icmp_code);
  if (key == "tcp_flags") return read_flags(value, match);
  if (key == "dscp") return read_number(key, value, 63, match.dscp);
  return read_number(key, value, UINT32_MAX, match.mark);
}

FlowParsed<void> FlowReader::put_action(std::string_view key, std::string_view value) {
  FlowActions& actions = flow_.actions;
  if (key == "accept" || key == "drop" || key == "output") {
    if (has_verdict_)
      return flow_wrong(
          fmt::format("{}: there is another verdict; use one of accept, drop, output", key));
    has_verdict_ = true;
    actions.verdict = key == "accept" ? FlowVerdict::kAccept
                      : key == "drop" ? FlowVerdict::kDrop
                                      : FlowVerdict::kOutput;
    if (key != "output") return {};
    if (value.empty() || value.size() > 64)
      return flow_wrong(fmt::format("output: {} is no name; use one like lan0", cut_word(value)));
    actions.output = value;
    return {};
  }
  if (key == "mac") {
    const auto mac = parse_mac_address(value);
    if (!mac)
      return flow_wrong(fmt::format("mac: {} is no MAC address; use one like 02:00:00:00:00:01",
                                    cut_word(value)));
    actions.mac = *mac;
    return {};
  }
  if (key == "ttl") {
    if (value != "decrement")
      return flow_wrong(fmt::format("ttl: {} is not known; use decrement", cut_word(value)));
    actions.decrement_ttl = true;
    return {};
  }
  if (key == "set_from" || key == "set_to") {
    const auto address = IpAddress::parse(std::string(value));
    if (!address)
      return flow_wrong(
          fmt::format("{}: {} is no address; use one like 192.0.2.1", key, cut_word(value)));
    (key == "set_from" ? actions.from : actions.to) = *address;
    return {};
  }
  if (key == "set_sport") return read_number(key, value, 65535, actions.sport);
  if (key == "set_dport") return read_number(key, value, 65535, actions.dport);
  if (key == "set_dscp") return read_number(key, value, 63, actions.dscp);
  return read_number(key, value, UINT32_MAX, actions.mark);
}

FlowParsed<FlowConfig> FlowReader::finish(bool needs_action) {
  FlowMatch& match = flow_.match;
  if (!has_family_ && match.protocol == kFlowIcmp6) {
    match.family = Family::kIpv6;
    has_family_ = true;
  }
  if (!has_family_)
    return flow_wrong("family: is missing, and no address says it; use ipv4 or ipv6");
  if (needs_action && !has_verdict_ && flow_.actions == FlowActions{})
    return flow_wrong("an entry has to do something; use accept, drop, output or a set_ word");
  if (auto done = check_flow(flow_); !done) return tl::unexpected(done.error());
  return flow_;
}

FlowParsed<FlowConfig> parse_flow(std::string_view line, bool needs_action) {
  FlowReader reader;
  const auto next = [&]() -> std::string_view {
    const size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    return word;
  };
  for (std::string_view key = next(); !key.empty(); key = next()) {
    std::string_view value;
    if (FlowReader::takes_value(key) && (value = next()).empty())
      return flow_wrong(fmt::format("{}: needs a value behind it", cut_word(key)));
    if (auto done = reader.put(key, value); !done) return tl::unexpected(done.error());
  }
  return reader.finish(needs_action);
}

std::vector<FlowWord> words_of(const FlowConfig& flow) {
  std::vector<FlowWord> out;
  const FlowMatch& match = flow.match;
  const FlowActions& actions = flow.actions;
  const auto add = [&](Part part, const char* key, std::string value) {
    out.push_back({part, key, std::move(value)});
  };
  const auto number = [&](Part part, const char* key, const auto& value) {
    if (value) add(part, key, std::to_string(*value));
  };
  const auto host = [](const IpPrefix& prefix) {
    return prefix.length == prefix.address.size() * 8 ? prefix.address.to_string()
                                                      : prefix.to_string();
  };
  if (!match.interface.empty()) add(Part::kMatch, "interface", match.interface);
  if (!match.from && !match.to)
    add(Part::kMatch, "family", match.family == Family::kIpv4 ? "ipv4" : "ipv6");
  if (match.from) add(Part::kMatch, "from", host(*match.from));
  if (match.to) add(Part::kMatch, "to", host(*match.to));
  if (match.protocol != 0) add(Part::kMatch, "protocol", protocol_text(match.protocol));
  number(Part::kMatch, "sport", match.sport);
  number(Part::kMatch, "dport", match.dport);
  number(Part::kMatch, "icmp_type", match.icmp_type);
  number(Part::kMatch, "icmp_code", match.icmp_code);
  std::string flags;
  for (unsigned bit = 0; bit < 8; ++bit)
    if ((match.tcp_mask >> bit & 1) != 0)
      flags += fmt::format("{}{}{}", flags.empty() ? "" : ",",
                           (match.tcp_set >> bit & 1) != 0 ? "" : "!", kFlags[bit]);
  if (!flags.empty()) add(Part::kMatch, "tcp_flags", flags);
  number(Part::kMatch, "dscp", match.dscp);
  number(Part::kMatch, "mark", match.mark);
  if (flow.priority != 0) add(Part::kEntry, "priority", std::to_string(flow.priority));
  if (flow.idle_s != 0) add(Part::kEntry, "idle_s", std::to_string(flow.idle_s));
  if (flow.hard_s != 0) add(Part::kEntry, "hard_s", std::to_string(flow.hard_s));
  if (actions.from) add(Part::kAction, "set_from", actions.from->to_string());
  if (actions.to) add(Part::kAction, "set_to", actions.to->to_string());
  number(Part::kAction, "set_sport", actions.sport);
  number(Part::kAction, "set_dport", actions.dport);
  number(Part::kAction, "set_dscp", actions.dscp);
  number(Part::kAction, "set_mark", actions.mark);
  if (actions.decrement_ttl) add(Part::kAction, "ttl", "decrement");
  if (actions.mac) add(Part::kAction, "mac", to_string(*actions.mac));
  if (actions.verdict == FlowVerdict::kAccept) add(Part::kAction, "accept", "");
  if (actions.verdict == FlowVerdict::kDrop) add(Part::kAction, "drop", "");
  if (actions.verdict == FlowVerdict::kOutput) add(Part::kAction, "output", actions.output);
  return out;
}

std::string to_string(const FlowConfig& flow) {
  std::string out;
  for (const FlowWord& word : words_of(flow))
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " ", word.key, word.value.empty() ? "" : " ",
                       word.value);
  return out;
}

}  // namespace hecto::config
