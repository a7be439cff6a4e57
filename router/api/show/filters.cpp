// Filters: what their rules have held for, how fast, and what is not done as the file asks.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "router/api/show/show.hpp"
#include "router/control/filter_control.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

// Of a filter with more rules those are shown that have held, the most used, in the file's order.
constexpr size_t kMostShownRules = 1000;
constexpr size_t kMostShownPrefixes = 5;  // of a policer those that exceed most

json counted(const FilterCount& count) {
  return {{"packets", count.packets}, {"bytes", count.bytes}};
}

std::vector<size_t> shown_rules(const FilterStatus& filter) {
  std::vector<size_t> rules(filter.rules.size());
  std::iota(rules.begin(), rules.end(), size_t{0});
  if (rules.size() <= kMostShownRules) return rules;
  const auto packets = [&](size_t rule) { return filter.rules[rule].count.packets; };
  std::erase_if(rules, [&](size_t rule) { return packets(rule) == 0; });
  if (rules.size() > kMostShownRules) {
    std::nth_element(rules.begin(), rules.begin() + kMostShownRules, rules.end(),
                     [&](size_t a, size_t b) { return packets(a) > packets(b); });
    rules.resize(kMostShownRules);
    std::sort(rules.begin(), rules.end());
  }
  return rules;
}

json show_filter(const FilterControl& filters, size_t number, const config::FilterConfig& config,
                 const FilterStatus& status) {
  json rules = json::array();
  for (const size_t rule : shown_rules(status)) {
    json each = counted(status.rules[rule].count);
    each["rule"] = status.rules[rule].name;
    each["text"] = config::to_string(config.rules[rule]);
    each["action"] = config::to_string(config.rules[rule].verdict);
    each["pps"] = filters.rate(number, rule);
    rules.push_back(std::move(each));
  }
  json otherwise = counted(status.otherwise);
  otherwise["action"] = config::to_string(config.otherwise);
  otherwise["pps"] = filters.rate(number, status.rules.size());
  std::vector<std::string> notes = status.notes;
  if (auto trouble = filters.trouble_of(number)) notes.push_back(*std::move(trouble));
  const size_t left_out = status.rules.size() - rules.size();
  for (std::string& note : filters.table_notes(number)) notes.push_back(std::move(note));
  return {{"name", status.name},
          {"in", config.in},
          {"out", config.out},
          {"vrfs", config.vrfs},
          {"local", config.local},
          {"rules", std::move(rules)},
          {"left_out", left_out},
          {"otherwise", std::move(otherwise)},
          {"memory_bytes", status.bytes},
          {"notes", std::move(notes)}};
}

json show_policer(const FilterTables& tables, const PolicerStatus& policer) {
  json exceeding = json::array();
  if (policer.prefixes)
    for (const PolicedPrefix& each : tables.most_red(policer.name, kMostShownPrefixes)) {
      exceeding.push_back(counted(each.red));
      exceeding.back()["prefix"] = each.prefix.to_string();
      exceeding.back()["set"] = each.set;
    }
  return {{"name", policer.name},
          {"green", counted(policer.green)},
          {"yellow", counted(policer.yellow)},
          {"red", counted(policer.red)},
          {"prefixes", policer.prefixes ? json(*policer.prefixes) : json()},
          {"exceeding", std::move(exceeding)},
          {"note", policer.note.empty() ? json() : json(policer.note)}};
}

}  // namespace

json show_filters(const FilterControl& filters) {
  json shown = json::array(), policers = json::array(), sets = json::array();
  uint64_t bytes = 0;
  const config::FiltersConfig& config = filters.config();
  if (const FilterTables* tables = filters.tables(); tables != nullptr) {
    bytes = tables->bytes();
    const std::vector<FilterStatus> status = tables->status();
    for (size_t i = 0; i < std::min(status.size(), config.filters.size()); ++i)
      shown.push_back(show_filter(filters, i, config.filters[i], status[i]));
    for (const PolicerStatus& policer : tables->policers())
      policers.push_back(show_policer(*tables, policer));
    for (const config::PrefixSetConfig& set : config.sets)
      sets.push_back({{"name", set.name},
                      {"prefixes", set.prefixes.size() + (set.of_file ? set.of_file->size() : 0)},
                      {"file", set.file.empty() ? json() : json(set.file)}});
  }
  const FilterLog::Counts log = filters.log().counts();
  return {{"filters", std::move(shown)},
          {"log",
           {{"lines", log.lines},
            {"untold_flows", log.untold_flows},
            {"untold_packets", log.untold_packets}}},
          {"policers", std::move(policers)},
          {"sets", std::move(sets)},
          {"memory_bytes", bytes}};
}

}  // namespace hecto::router
