#include "config/file/load_filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "config/file/keys.hpp"
#include "config/file/load_filter_rules.hpp"
#include "config/file/load_sets.hpp"

namespace hecto::config {
namespace {

// Where packets meet filters: at each place one.
class Places {
 public:
  // False, and told, where another filter is there already. `at` says in words where that is.
  bool take(const Value& value, const std::string& place, const std::string& filter,
            std::string_view at) {
    const auto [found, fresh] = taken_.emplace(place, filter);
    if (fresh) return true;
    if (found->second == filter)
      value.refuse("is named twice; name it once");
    else
      value.complain(
          fmt::format("filter {} {} already, and each packet meets one there; put the "
                      "rules of both into one",
                      found->second, at));
    return false;
  }

 private:
  std::map<std::string, std::string> taken_;
};

class FilterReader {
 public:
  explicit FilterReader(Loading& loading)
      : loading_(loading), names_(loading.config, loading.static_mode) {}

  void read(const Value::Entry& entry) {
    Fields fields(entry.value, filter_keys.names, "a map, as {in: [wan0], rules: [...]}");
    FilterConfig& filter = loading_.config.filters.filters.emplace_back();
    filter.name = entry.key;
    leading_.clear();
    read_keys(
        fields, filter_keys, filter,
        {{"in", [&](const Value& v) { read_interfaces(v, filter, in_, filter.in, "in"); }},
         {"out", [&](const Value& v) { read_interfaces(v, filter, out_, filter.out, "out"); }},
         {"vrfs", [&](const Value& v) { read_vrfs(v, filter); }},
         {"rules", [&](const Value& v) { read_rules(v, filter); }}});
    check_tables(filter);
    if (const Value* local = fields.get("local"); local != nullptr && filter.local)
      local_.take(*local, "local", filter.name, "is the one of local");
  }

  size_t rules() const { return rules_; }

 private:
  void read_interfaces(const Value& value, const FilterConfig& filter, Places& places,
                       std::vector<std::string>& names, std::string_view key) {
    for (const Value& item : value.items("a list of interfaces, as [wan0]", kMostInterfaces))
      if (auto name = read_filter_interface(item, names_))
        if (places.take(item, *name, filter.name, fmt::format("has {} among its {}", *name, key)))
          names.push_back(std::move(*name));
  }

  void read_vrfs(const Value& value, FilterConfig& filter) {
    for (const Value& item : value.items("a list of VRFs, as [red]", kMostTables))
      if (auto name = read_filter_vrf(item, names_))
        if (vrfs_.take(item, *name, filter.name, fmt::format("has {} among its vrfs", *name)))
          filter.vrfs.push_back(std::move(*name));
  }

  void read_rules(const Value& value, FilterConfig& filter) {
    const auto items =
        value.items("a list, as [{from: 10.0.0.0/8, action: drop}]", kMostFilterRules);
    filter.rules.reserve(items.size());
    std::unordered_map<std::string, uint32_t> lines;  // of names
    for (const Value& item : items) {
      filter.rules.push_back(read_filter_rule(item, names_, loading_));
      if (const FilterRuleConfig& rule = filter.rules.back(); rule.table != 0 || !rule.vrf.empty())
        leading_.push_back(item);
      const std::string& name = filter.rules.back().name;
      if (name.empty()) continue;
      const auto [first, fresh] = lines.emplace(name, item.line());
      if (!fresh)
        item.complain(fmt::format("the name {} is that of the rule on line {} already; use another",
                                  name, first->second));
    }
    rules_ += items.size();
  }

  // Behind the look-up no other table is asked.
  void check_tables(const FilterConfig& filter) {
    if (filter.out.empty() && !filter.local) return;
    for (const Value& rule : leading_)
      rule.complain(fmt::format(
          "table and vrf of a rule are done where packets come in, and filter {} has {}; use a "
          "filter of its own with in or vrfs",
          filter.name, filter.out.empty() ? "local" : "out"));
  }

  Loading& loading_;
  FilterNames names_;
  std::vector<Value> leading_;  // rules of the filter that name a table
  Places in_, out_, vrfs_, local_;
  size_t rules_ = 0;
};

}  // namespace

void load_filters(const Value& value, Loading& loading) {
  FilterReader reader(loading);
  for (const Value::Entry& entry :
       value.entries("filters by name, as {edge: {in: [wan0], rules: [...]}}",
                     file_keys["filters"].range.high)) {
    if (is_filter_name(entry.key))
      reader.read(entry);
    else
      entry.value.complain(filter_name_words("filter"));
  }
  if (reader.rules() > kMostFilterRules)
    value.complain(
        fmt::format("{} rules in all filters; use at most {}", reader.rules(), kMostFilterRules));
  if (const std::string why = why_not_policed(loading.config.filters); !why.empty())
    value.complain(why);
}

}  // namespace hecto::config
