#include "config/file/diff_filters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

using FilterLines = std::vector<std::string>;
using lookup::IpPrefix;

// Items that both have by name, and those that one lacks: removed, changed, added.
template <typename Item, typename Removed, typename Changed, typename Added>
void by_name(const std::vector<Item>& before, const std::vector<Item>& after, Removed removed,
             Changed changed, Added added) {
  std::map<std::string_view, const Item*> old_items;
  for (const Item& item : before) old_items[item.name] = &item;
  std::vector<std::pair<const Item*, const Item*>> other;
  std::vector<const Item*> fresh;
  for (const Item& item : after) {
    const auto found = old_items.find(item.name);
    if (found == old_items.end()) {
      fresh.push_back(&item);
      continue;
    }
    if (!(*found->second == item)) other.emplace_back(found->second, &item);
    old_items.erase(found);
  }
  for (const auto& [name, item] : old_items) removed(*item);
  for (const auto& [old_item, new_item] : other) changed(*old_item, *new_item);
  for (const Item* item : fresh) added(*item);
}

std::string count_text(size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : (one.ends_with('x') ? "es" : "s"));
}

std::vector<IpPrefix> sorted_prefixes(const PrefixSetConfig& set) {
  std::vector<IpPrefix> out = set.prefixes;
  if (set.of_file != nullptr) out.insert(out.end(), set.of_file->begin(), set.of_file->end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string set_change(const PrefixSetConfig& before, const PrefixSetConfig& after) {
  const auto old_ones = sorted_prefixes(before), new_ones = sorted_prefixes(after);
  std::vector<IpPrefix> gone, come;
  std::set_difference(old_ones.begin(), old_ones.end(), new_ones.begin(), new_ones.end(),
                      std::back_inserter(gone));
  std::set_difference(new_ones.begin(), new_ones.end(), old_ones.begin(), old_ones.end(),
                      std::back_inserter(come));
  if (gone.empty() && come.empty())
    return fmt::format("the same {}, elsewhere", count_text(new_ones.size(), "prefix"));
  std::vector<std::string> parts;
  constexpr size_t kMostNamed = 3;  // of both together
  if (gone.size() + come.size() <= kMostNamed) {
    for (const IpPrefix& prefix : gone) parts.push_back("- " + prefix.to_string());
    for (const IpPrefix& prefix : come) parts.push_back("+ " + prefix.to_string());
  } else {
    if (!gone.empty()) parts.push_back("- " + count_text(gone.size(), "prefix"));
    if (!come.empty()) parts.push_back("+ " + count_text(come.size(), "prefix"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void diff_sets(const FiltersConfig& running, const FiltersConfig& wanted, FilterLines& lines) {
  by_name(
      running.sets, wanted.sets,
      [&](const PrefixSetConfig& set) { lines.push_back("- set " + set.name); },
      [&](const PrefixSetConfig& before, const PrefixSetConfig& after) {
        lines.push_back(fmt::format("~ set {}: {}", after.name, set_change(before, after)));
      },
      [&](const PrefixSetConfig& set) {
        lines.push_back(fmt::format("+ set {}: {}", set.name, count_text(set.size(), "prefix")));
      });
}

void diff_policers(const FiltersConfig& running, const FiltersConfig& wanted, FilterLines& lines) {
  by_name(
      running.policers, wanted.policers,
      [&](const PolicerConfig& policer) { lines.push_back("- policer " + policer.name); },
      [&](const PolicerConfig& before, const PolicerConfig& after) {
        lines.push_back(
            fmt::format("~ policer {}: {} -> {}", after.name, to_string(before), to_string(after)));
      },
      [&](const PolicerConfig& policer) {
        lines.push_back(fmt::format("+ policer {}: {}", policer.name, to_string(policer)));
      });
}

// Where it is applied, and what is beside its rules: {in: [wan0], otherwise: drop}.
std::string head_text(const FilterConfig& filter) {
  return flow_map(filter_keys, filter);
}

class RuleLines {
 public:
  RuleLines(const std::string& filter, FilterLines& lines) : filter_(filter), lines_(lines) {}
  void add(std::string_view sign, const FilterRuleConfig& rule) {
    if (++count_ <= kMostRuleLines)
      lines_.push_back(fmt::format("{} filter {} rule {}", sign, filter_, to_string(rule)));
  }
  void end() {
    if (count_ > kMostRuleLines)
      lines_.push_back(fmt::format("~ filter {}: and {} more", filter_,
                                   count_text(count_ - kMostRuleLines, "rule")));
  }
  size_t count() const { return count_; }

 private:
  const std::string& filter_;
  FilterLines& lines_;
  size_t count_ = 0;
};

// What is the same in front and behind is left aside; of the rest what the other list lacks is told.
void diff_filter_rules(const FilterConfig& before, const FilterConfig& after, FilterLines& lines) {
  auto old_first = before.rules.begin(), old_last = before.rules.end();
  auto new_first = after.rules.begin(), new_last = after.rules.end();
  while (old_first != old_last && new_first != new_last && *old_first == *new_first)
    ++old_first, ++new_first;
  while (old_first != old_last && new_first != new_last && *(old_last - 1) == *(new_last - 1))
    --old_last, --new_last;
  if (old_first == old_last && new_first == new_last) return;
  std::unordered_map<std::string, int64_t> more;  // of the new ones than of the old ones
  for (auto rule = new_first; rule != new_last; ++rule) ++more[to_string(*rule)];
  for (auto rule = old_first; rule != old_last; ++rule) --more[to_string(*rule)];
  RuleLines told(after.name, lines);
  auto fewer = more;
  for (auto rule = old_first; rule != old_last; ++rule)
    if (int64_t& left = fewer[to_string(*rule)]; left < 0) {
      ++left;
      told.add("-", *rule);
    }
  for (auto rule = new_first; rule != new_last; ++rule)
    if (int64_t& left = more[to_string(*rule)]; left > 0) {
      --left;
      told.add("+", *rule);
    }
  told.end();
  if (told.count() == 0) lines.push_back(fmt::format("~ filter {}: order of rules", after.name));
}

void diff_each_filter(const FiltersConfig& running, const FiltersConfig& wanted,
                      FilterLines& lines) {
  by_name(
      running.filters, wanted.filters,
      [&](const FilterConfig& filter) { lines.push_back("- filter " + filter.name); },
      [&](const FilterConfig& before, const FilterConfig& after) {
        const std::string old_head = head_text(before), new_head = head_text(after);
        if (old_head != new_head)
          lines.push_back(fmt::format("~ filter {}: {} -> {}", after.name, old_head, new_head));
        diff_filter_rules(before, after, lines);
      },
      [&](const FilterConfig& filter) {
        lines.push_back(fmt::format("+ filter {}: {}, {}", filter.name,
                                    count_text(filter.rules.size(), "rule"), head_text(filter)));
      });
}

}  // namespace

void diff_filters(const FiltersConfig& running, const FiltersConfig& wanted,
                  std::vector<std::string>& lines) {
  const size_t had = lines.size();
  diff_sets(running, wanted, lines);
  diff_policers(running, wanted, lines);
  diff_each_filter(running, wanted, lines);
  if (lines.size() == had && running != wanted)
    lines.emplace_back("~ filters: order of filters, sets or policers");
}

}  // namespace hecto::config
