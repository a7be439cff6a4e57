#include "config/file/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

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

const std::string& policed_end(const FilterRuleConfig& rule, PoliceEach each) {
  return each == PoliceEach::kSource ? rule.from.set : rule.to.set;
}

std::vector<PolicedSet> policed_sets(const FiltersConfig& filters) {
  std::map<std::string_view, size_t> policers, sets;
  for (size_t i = 0; i < filters.policers.size(); ++i)
    if (filters.policers[i].each != PoliceEach::kNone)
      policers.emplace(filters.policers[i].name, i);
  if (policers.empty()) return {};
  for (size_t i = 0; i < filters.sets.size(); ++i) sets.emplace(filters.sets[i].name, i);
  std::set<PolicedSet> found;
  for (const FilterConfig& filter : filters.filters)
    for (const FilterRuleConfig& rule : filter.rules) {
      const auto policer = policers.find(rule.police);
      if (policer == policers.end()) continue;
      const auto set = sets.find(policed_end(rule, filters.policers[policer->second].each));
      if (set != sets.end()) found.insert({policer->second, set->second});
    }
  return {found.begin(), found.end()};
}

size_t policed_prefixes(const FiltersConfig& filters) {
  size_t prefixes = 0;
  for (const PolicedSet& each : policed_sets(filters)) prefixes += filters.sets[each.set].size();
  return prefixes;
}

uint64_t policed_bytes(const PrefixSetConfig& set) {
  uint64_t bytes = 0;
  for (const auto* prefixes : {&set.prefixes, set.of_file.get()})
    if (prefixes != nullptr)
      for (const lookup::IpPrefix& prefix : *prefixes)
        bytes += prefix.address.family == lookup::Family::kIpv4 ? kPolicedPrefix4_bytes
                                                                : kPolicedPrefix6_bytes;
  return bytes;
}

uint64_t policed_bytes(const FiltersConfig& filters) {
  uint64_t bytes = 0;
  for (const PolicedSet& each : policed_sets(filters))
    bytes += policed_bytes(filters.sets[each.set]);
  return bytes;
}

std::string why_not_policed(const FiltersConfig& filters) {
  if (const size_t sets = policed_sets(filters).size(); sets > kMostPolicedSets)
    return fmt::format("policers with each have {} sets; use at most {}", sets, kMostPolicedSets);
  const size_t prefixes = policed_prefixes(filters);
  if (prefixes <= kMostPolicedPrefixes) return {};
  return fmt::format(
      "policers with each have {} prefixes, a bucket each, which take {} MiB; use at most {}",
      prefixes, policed_bytes(filters) >> 20, kMostPolicedPrefixes);
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

const char* to_string(PoliceEach each) noexcept {
  static constexpr const char* kWords[] = {"none", "source", "destination"};
  return kWords[static_cast<size_t>(each)];
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
