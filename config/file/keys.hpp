// Every key of the file: one table for each of its maps. Reading, printing, `diff`, the limits of
// the API and the table in docs/configuration.md follow from them.
#pragma once

#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "config/file/key.hpp"

namespace hecto::config {

extern const Section<Config> file_keys;  // of the file itself
extern const Section<PortConfig> port_keys;
extern const Section<BondConfig> bond_keys;
extern const Section<VlanConfig> vlan_keys;
extern const Section<VlanConfig> inner_vlan_keys;  // of those in one
extern const Section<LinuxConfig> linux_keys;
extern const Section<RouteConfig> route_keys;
extern const Section<NextHopConfig> next_hop_keys;
extern const Section<NeighborConfig> neighbor_keys;
extern const Section<VrfConfig> vrf_keys;
extern const Section<RuleConfig> rule_keys;
extern const Section<PrefixSetConfig> set_keys;
extern const Section<PolicerConfig> policer_keys;
extern const Section<FilterConfig> filter_keys;
extern const Section<FilterRuleConfig> filter_rule_keys;
extern const Section<Config> punt_keys;
extern const Section<FlowsConfig> flow_keys;
extern const Section<TablesConfig> table_keys;
extern const Section<OffloadConfig> offload_keys;
extern const Section<IpsecConfig> ipsec_keys;
extern const Section<IpsecSaConfig> sa_keys;
extern const Section<UdpEncapsulation> encapsulation_keys;
extern const Section<IpsecLifetime> lifetime_keys;
extern const Section<IpsecPolicyConfig> policy_keys;
extern const Section<IpsecTemplateConfig> template_keys;
extern const Section<SflowConfig> sflow_keys;
extern const Section<IpfixConfig> ipfix_keys;
extern const Section<NatConfig> nat_keys;
extern const Section<NatPoolConfig> nat_pool_keys;
extern const Section<NatRuleConfig> nat_rule_keys;
extern const Section<Config> api_keys;
extern const Section<Config> log_keys;
extern const Section<Config> watchdog_keys;

// A key in words.
struct KeyText {
  std::string path;  // "ports.*.mtu"
  std::string type;
  std::string default_value;
  std::string range;  // what would be right
  Change change;
  std::string description;
};

// All keys, those of a map behind the map itself.
std::vector<KeyText> all_keys();

// The key's row in the manual's table.
std::string markdown_row(const KeyText& key);

}  // namespace hecto::config
