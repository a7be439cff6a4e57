// The keys of `nat`.
#include <fmt/format.h>

#include "config/file/key_tables.hpp"

namespace hecto::config {
namespace {

using namespace row;     // integer, word, text, structure
using namespace tables;  // what all tables have in common

std::string nat_prefix_text(const lookup::IpPrefix& prefix) {
  return prefix.length == 0 ? std::string() : quoted(prefix.to_string());
}

// clang-format off
constexpr Key<NatConfig> kNat[] = {
  structure<NatConfig>("pools", "map", "none", {1, kMostNatPools, "a name and a map with the keys below, at most {high}"},
      kReload, "Outside addresses that hosts share, by ports. A pool that changes in `addresses`, `ports`, "
      "`block_size`, `sessions` or `filtering` begins anew, without its sessions; so does all with a restart."),
  structure<NatConfig>("rules", "list", "none", {0, kMostNatRules, "at most {high}"}, kReload,
      "Whose packets are translated where. What Linux itself sends is not."),
};

constexpr Key<NatPoolConfig> kNatPools[] = {
  structure<NatPoolConfig>("addresses", "list", "none",
      {1, kMostNatPoolAddresses, "IPv4 addresses and prefixes, {low} to {high} addresses"}, kReload,
      "Outside addresses. The router's own may be among them: what has no mapping is Linux's.")
      .needed("some, as addresses: [203.0.113.1]")
      .printed([](const NatPoolConfig& pool) { return addresses_text(pool.addresses); }),
  structure<NatPoolConfig>("ports", "text", "1024-65535",
      {kFirstNatPort, kLastNatPort, "a range, as 1024-65535"}, kReload,
      "Ports, and identifiers of ICMP, that are given out. Of the router's own address 8192-32767, if "
      "nothing is said: below those that Linux opens connections from.")
      .printed([](const NatPoolConfig& pool) { return fmt::format("{}-{}", pool.first_port, pool.last_port); }),
  power_of_two<&NatPoolConfig::block_size>("block_size", {64, 32768, "a power of two, {low} to {high}"}, kReload,
      "Ports of a block. A host gets whole blocks, all of one address, and the log says which."),
  integer<&NatPoolConfig::blocks_per_host>("blocks_per_host", {1, 1024}, kReload,
      "Blocks that one host may have."),
  integer<&NatPoolConfig::sessions_per_host>("sessions_per_host", {1, 1'000'000}, kReload,
      "Sessions that one host may have."),
  integer<&NatPoolConfig::sessions>("sessions", {64, kMostNatSessions}, kReload,
      "Sessions of the pool; memory for all is taken at once, 100 to 160 bytes each."),
  word<&NatPoolConfig::filtering>("filtering", kReload,
      "Who may send to a mapping from outside: anybody, or only addresses that it has sent to."),
  integer<&NatPoolConfig::udp_timeout_s>("udp_timeout_s", {120, 86400}, kReload,
      "Idle time of a UDP session, outwards (RFC 4787 REQ-5)."),
  integer<&NatPoolConfig::tcp_established_timeout_s>("tcp_established_timeout_s", {7440, 604800}, kReload,
      "Idle time of an established TCP connection (RFC 5382 REQ-5)."),
  integer<&NatPoolConfig::tcp_transitory_timeout_s>("tcp_transitory_timeout_s", {240, 86400}, kReload,
      "Idle time of one that is being opened or closed."),
  integer<&NatPoolConfig::icmp_timeout_s>("icmp_timeout_s", {60, 86400}, kReload,
      "Idle time of an echo's identifier (RFC 5508 REQ-2)."),
};

constexpr Key<NatRuleConfig> kNatRules[] = {
  structure<NatRuleConfig>("inside", "text", "none", {0, 0, "a prefix, as 10.1.0.0/24 or fd00:1::/48"}, kReload,
      "Whose packets.")
      .needed("a prefix, as inside: 10.1.0.0/24")
      .printed([](const NatRuleConfig& rule) { return nat_prefix_text(rule.inside); }),
  structure<NatRuleConfig>("outside", "text", "none", {0, 0, "a prefix of the same length"}, kReload,
      "1:1, each address has its own, both ways; of IPv6 by RFC 6296, up to /64.")
      .printed([](const NatRuleConfig& rule) { return nat_prefix_text(rule.outside); }),
  text<&NatRuleConfig::pool>("pool", {0, 0, "a name under pools"}, kReload,
      "They share its addresses (NAPT); of IPv4.").otherwise("none"),
  text<&NatRuleConfig::out>("out", {0, 0, "a port, or PORT.ID"}, kReload,
      "The interface that they leave by.").needed("an interface, as out: wan0").otherwise("none"),
};
// clang-format on

}  // namespace

constinit const Section<NatConfig> nat_keys = section<kNat>("nat");
constinit const Section<NatPoolConfig> nat_pool_keys = section<kNatPools>("nat.pools.*");
constinit const Section<NatRuleConfig> nat_rule_keys = section<kNatRules>("nat.rules.*");

}  // namespace hecto::config
