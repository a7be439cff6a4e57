// Filters: rules that have a name, what no rule held for, and policers.
#include "router/api/metrics/metrics.hpp"
#include "router/control/filter_control.hpp"

namespace hecto::router {
namespace {

// Of a filter; a time series for each of 100,000 rules is nobody's wish.
constexpr size_t kMostRuleSeries = 1000;

struct Series {
  std::string filter, rule;
  FilterCount count;
};

std::vector<Series> rule_series(const FilterControl& filters) {
  std::vector<Series> series;
  const std::vector<FilterStatus> all = filters.tables()->status();
  const auto& configs = filters.config().filters;
  for (size_t i = 0; i < std::min(all.size(), configs.size()); ++i) {
    size_t named = 0;
    for (size_t r = 0; r < all[i].rules.size() && named < kMostRuleSeries; ++r) {
      if (configs[i].rules[r].name.empty()) continue;
      series.push_back({all[i].name, all[i].rules[r].name, all[i].rules[r].count});
      ++named;
    }
    series.push_back({all[i].name, "otherwise", all[i].otherwise});
  }
  return series;
}

}  // namespace

void write_filters(MetricsWriter& out, const MetricsSources& s) {
  std::vector<Series> series;
  std::vector<PolicerStatus> policers;
  uint64_t bytes = 0;
  if (s.filters != nullptr && s.filters->tables() != nullptr) {
    series = rule_series(*s.filters);
    policers = s.filters->tables()->policers();
    bytes = s.filters->tables()->bytes();
  }
  const auto rules = [&](const char* family, auto number) {
    out.family(family);
    for (const Series& each : series) out.add({each.filter, each.rule}, each.count.*number);
  };
  rules("hecto_filter_packets", &FilterCount::packets);
  rules("hecto_filter_bytes", &FilterCount::bytes);
  const auto colors = [&](const char* family, auto number) {
    out.family(family);
    for (const PolicerStatus& policer : policers)
      out.add({policer.name, "green"}, policer.green.*number)
          .add({policer.name, "yellow"}, policer.yellow.*number)
          .add({policer.name, "red"}, policer.red.*number);
  };
  colors("hecto_policer_packets", &FilterCount::packets);
  colors("hecto_policer_bytes", &FilterCount::bytes);
  out.family("hecto_filter_memory_bytes").add({}, bytes);
}

}  // namespace hecto::router
