#include "config/file/nat.hpp"

#include "config/file/keys.hpp"

namespace hecto::config {

uint64_t NatPoolConfig::address_count() const {
  uint64_t count = 0;
  for (const lookup::IpPrefix& prefix : addresses) count += uint64_t{1} << (32 - prefix.length);
  return count;
}

const char* to_string(NatFiltering filtering) noexcept {
  return filtering == NatFiltering::kAddressDependent ? "address-dependent"
                                                      : "endpoint-independent";
}

std::string to_string(const NatPoolConfig& pool) {
  return quoted(pool.name) + ": " + flow_map(nat_pool_keys, pool);
}

std::string to_string(const NatRuleConfig& rule) {
  return flow_map(nat_rule_keys, rule);
}

}  // namespace hecto::config
