// The keys of `vrfs` and `rules`.
#include <fmt/format.h>

#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, word, text, structure
using namespace tables;  // what all tables have in common

constexpr std::string_view kPortOrRange = "a port from 1 to 65535, or a range as 1000-2000";

std::string prefix_text(const std::optional<lookup::IpPrefix>& prefix) {
  return prefix ? quoted(prefix->to_string()) : std::string();
}

std::string ports_text(const std::optional<PortSpan>& ports) {
  if (!ports) return {};
  if (ports->first == ports->last) return std::to_string(ports->first);
  return fmt::format("{}-{}", ports->first, ports->last);
}

// clang-format off
constexpr Key<VrfConfig> kVrfs[] = {
  integer<&VrfConfig::table>("table", {1, kMost32, "{low} to {high}, but 253 to 255"}, kReload,
      "Routing table of the VRF: a number that no other VRF has.")
      .needed("a number, as table: 10").otherwise("none"),
};

constexpr Key<RuleConfig> kRules[] = {
  integer<&RuleConfig::priority>("priority", {1, kMost32}, kReload,
      "Rules are asked in this order, each family's its own. 32766 is main; with VRFs 1000 is a look-up in "
      "the VRF, 2000 its end, 32765 local.")
      .needed("its place in the order, as priority: 100").otherwise("none"),
  word<&RuleConfig::family>("family", kReload,
      "auto: that of `from` and `to`; without them both families.").if_changed(),
  structure<RuleConfig>("from", "text", "any", {0, 0, "a prefix, as 10.0.0.0/8 or 2001:db8::/32"},
      kReload, "Source addresses of the packets.")
      .printed([](const RuleConfig& r) { return prefix_text(r.from); }),
  structure<RuleConfig>("to", "text", "any", {0, 0, "a prefix, as 10.0.0.0/8 or 2001:db8::/32"},
      kReload, "Destination addresses.")
      .printed([](const RuleConfig& r) { return prefix_text(r.to); }),
  text<&RuleConfig::iif>("iif", {0, 0, "a port, PORT.ID, or a VRF"}, kReload,
      "The interface that they come in by; of a VRF: any of its own.").otherwise("any"),
  boolean<&RuleConfig::invert>("not", kReload,
      "It is about all packets but these.").if_changed(),
  integer<&RuleConfig::dscp>("dscp", {0, 63}, kReload,
      "DSCP of the packets (RFC 2474), all six bits.").otherwise("any"),
  structure<RuleConfig>("ipproto", "word or integer", "any",
      {1, 255, "tcp, udp, sctp, icmp, gre, ... or {low} to {high}"}, kReload,
      "Their protocol.")
      .printed([](const RuleConfig& r) {
        return r.ip_protocol == 0 ? std::string() : protocol_text(r.ip_protocol);
      }),
  structure<RuleConfig>("sport", "text", "any", {1, 65535, kPortOrRange}, kReload,
      "Source ports, of protocols that have them.")
      .printed([](const RuleConfig& r) { return ports_text(r.sources); }),
  structure<RuleConfig>("dport", "text", "any", {1, 65535, kPortOrRange}, kReload,
      "Destination ports, likewise.")
      .printed([](const RuleConfig& r) { return ports_text(r.destinations); }),
  structure<RuleConfig>("table", "integer", "none",
      {1, kMost32, "main, or {low} to {high} but 253 and 255"}, kReload,
      "Packets are looked up in this table; where it has no route the next rule is asked.")
      .printed([](const RuleConfig& r) {
        return r.table == 0 || !r.vrf.empty() ? std::string() : table_words(r.table);
      }),
  text<&RuleConfig::vrf>("vrf", {0, 0, "a name under vrfs"}, kReload,
      "The same, in the VRF's table.").otherwise("none"),
  integer<&RuleConfig::target>("goto", {1, kMost32}, kReload,
      "Go on at the rule of this priority, which is higher."),
  word<&RuleConfig::action>("action", kReload,
      "blackhole drops; unreachable and prohibit also tell the sender, where there is a Linux side.")
      .if_changed(),
};
// clang-format on

}  // namespace

constinit const Section<VrfConfig> vrf_keys = section<kVrfs>("vrfs.*");
constinit const Section<RuleConfig> rule_keys = section<kRules>("rules.*");

}  // namespace hecto::config
