#include "config/file/filters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

constexpr uint8_t kIcmp6 = 58;

}  // namespace

bool PrefixSetConfig::operator==(const PrefixSetConfig& other) const {
  if (name != other.name || prefixes != other.prefixes || file != other.file) return false;
  if (of_file == other.of_file) return true;
  return of_file != nullptr && other.of_file != nullptr && *of_file == *other.of_file;
}

size_t PrefixSetConfig::size() const {
  return prefixes.size() + (of_file == nullptr ? 0 : of_file->size());
}

bool FiltersConfig::empty() const {
  const auto held = [](const PolicerConfig& each) { return !each.in.empty() || !each.out.empty(); };
  return filters.empty() && std::none_of(policers.begin(), policers.end(), held);
}

bool FilterRuleConfig::holds_for(lookup::Family of) const {
  const bool ipv6 = of == lookup::Family::kIpv6;
  if (family != RuleFamily::kAuto && (family == RuleFamily::kIpv6) != ipv6) return false;
  for (const FilterEnd* end : {&from, &to})
    if (end->prefix && end->prefix->address.family != of) return false;
  return ipv6 || protocol != kIcmp6;
}

const char* to_string(FilterVerdict verdict) noexcept {
  static constexpr const char* kWords[] = {"accept", "drop", "reject"};
  return kWords[static_cast<size_t>(verdict)];
}

const char* to_string(FragmentMatch fragments) noexcept {
  static constexpr const char* kWords[] = {"any", "none", "first", "later", "fragment"};
  return kWords[static_cast<size_t>(fragments)];
}

std::string to_string(const FilterRuleConfig& rule) {
  return flow_map(filter_rule_keys, rule);
}

std::string to_string(const PrefixSetConfig& set) {
  return set.file.empty() ? addresses_text(set.prefixes) : flow_map(set_keys, set);
}

std::string to_string(const PolicerConfig& policer) {
  return flow_map(policer_keys, policer);
}

std::string name_of(const FilterConfig& filter, size_t rule) {
  const std::string& own = filter.rules[rule].name;
  return own.empty() ? std::to_string(rule + 1) : own;
}

}  // namespace hecto::config
