#include "router/dataplane/filter/take_policers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

using config::PolicerConfig;

bool is_named(const config::FiltersConfig& config, const std::string& policer) {
  return std::ranges::any_of(config.filters, [&](const config::FilterConfig& filter) {
    return std::ranges::any_of(
        filter.rules, [&](const config::FilterRuleConfig& rule) { return rule.police == policer; });
  });
}

// `name`: as it is shown.
Result<std::shared_ptr<Policer>> take_one(const PolicerConfig& config, const std::string& name,
                                          const FilterState* before) {
  if (before != nullptr)
    for (size_t i = 0; i < before->policers.size(); ++i)
      if (before->policers_known[i].name == name && before->policers[i]->config() == config)
        return before->policers[i];
  return Policer::create(config, rte_get_tsc_hz());
}

}  // namespace

Result<void> take_policers(const config::FiltersConfig& config, const FilterSurroundings& around,
                           const FilterState* before, FilterState& out) {
  const auto add = [&](const PolicerConfig& of, FilterState::PolicerKnown known) -> Result<void> {
    auto policer = take_one(of, known.name, before);
    if (!policer) return tl::unexpected(policer.error());
    for (FilterViews& views : out.views) views.policers.push_back(policer->get());
    out.policers.push_back(std::move(*policer));
    out.policers_known.push_back(std::move(known));
    return {};
  };
  // Where it holds is no part of what a bucket is.
  const auto alone = [](PolicerConfig of) {
    of.in.clear();
    of.out.clear();
    return of;
  };
  for (const PolicerConfig& of : config.policers) {
    const bool shown = (of.in.empty() && of.out.empty()) || is_named(config, of.name);
    if (auto done = add(alone(of), {shown ? of.name : std::string(), {}}); !done) return done;
  }
  for (const PolicerConfig& of : config.policers) {
    const auto add_way = [&](const std::vector<std::string>& interfaces, const char* way,
                             auto numbers, auto some) -> Result<void> {
      for (const std::string& interface : interfaces) {
        const InterfaceId id = around.interface ? around.interface(interface) : kNoInterface;
        const bool there = id < kMaxInterfaces;
        FilterState::PolicerKnown known{fmt::format("{} {} {}", of.name, way, interface), {}};
        if (!there) known.note = fmt::format("there is no interface {} (now)", interface);
        if (auto done = add(alone(of), std::move(known)); !done) return done;
        if (!there) continue;
        for (FilterViews& views : out.views) {
          (views.*numbers)[id] = static_cast<PolicerNumber>(out.policers.size());
          views.*some = true;
        }
      }
      return {};
    };
    if (auto done = add_way(of.in, "in", &FilterViews::police_in, &FilterViews::has_police_in);
        !done)
      return done;
    if (auto done = add_way(of.out, "out", &FilterViews::police_out, &FilterViews::has_police_out);
        !done)
      return done;
  }
  return {};
}

}  // namespace hecto::router
