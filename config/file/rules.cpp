#include "config/file/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/file/keys.hpp"

namespace hecto::config {

bool RuleConfig::holds_for(lookup::Family of) const {
  if (from || to) return (from ? from : to)->address.family == of;
  return family == RuleFamily::kAuto ||
         (family == RuleFamily::kIpv4) == (of == lookup::Family::kIpv4);
}

const char* to_string(RuleFamily family) noexcept {
  static constexpr const char* kWords[] = {"auto", "ipv4", "ipv6"};
  return kWords[static_cast<size_t>(family)];
}

const char* to_string(RuleRefusal refusal) noexcept {
  static constexpr const char* kWords[] = {"none", "blackhole", "unreachable", "prohibit"};
  return kWords[static_cast<size_t>(refusal)];
}

std::string table_words(uint32_t table) {
  return table == kMainTable ? "main" : std::to_string(table);
}

uint32_t vrf_table_of(const Config& config, uint32_t table) {
  const bool is_vrf = std::any_of(config.vrfs.begin(), config.vrfs.end(),
                                  [&](const VrfConfig& vrf) { return vrf.table == table; });
  return is_vrf ? table : 0;
}

std::string to_string(const VrfConfig& vrf) {
  return fmt::format("{}: {}", quoted(vrf.name), flow_map(vrf_keys, vrf));
}

std::string to_string(const RuleConfig& rule) {
  return flow_map(rule_keys, rule);
}

}  // namespace hecto::config
