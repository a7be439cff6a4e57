#include "router/dataplane/filter/take_policers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

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

// As before: where it says the same, all of it.
const FilterState::Policed* policed_before(const FilterState* before, const PolicerConfig& policer,
                                           const std::string& set) {
  if (before == nullptr) return nullptr;
  for (const FilterState::Policed& each : before->policed)
    if (before->prefix_policers[each.policer]->config() == policer && each.numbers->set() == set)
      return &each;
  return nullptr;
}

// More threads than there were take counts along.
Result<std::shared_ptr<PrefixPolicer>> take_prefix_policer(const PolicerConfig& config,
                                                           unsigned threads,
                                                           const FilterState* before) {
  std::shared_ptr<PrefixPolicer> had;
  if (before != nullptr)
    for (const auto& each : before->prefix_policers)
      if (each && each->config() == config) had = each;
  if (had && had->threads() >= threads) return had;
  auto made = PrefixPolicer::create(config, rte_get_tsc_hz(), threads);
  if (made && had) (*made)->begin_with(had->status());
  return made;
}

// Of sets that are others now their tables are built beside those of before.
Result<void> check_room(const config::FiltersConfig& config, const FilterState* before,
                        uint64_t free_bytes) {
  if (const std::string why = config::why_not_policed(config); !why.empty()) return fail(why);
  if (free_bytes == 0) return {};
  uint64_t bytes = 0;
  for (const config::PolicedSet& each : config::policed_sets(config)) {
    const config::PrefixSetConfig& set = config.sets[each.set];
    const auto* const had = policed_before(before, config.policers[each.policer], set.name);
    if (had == nullptr || !had->numbers->are_of(set)) bytes += config::policed_bytes(set);
  }
  if (bytes <= free_bytes) return {};
  return fail(fmt::format("policers: buckets of prefixes take {} MiB more, {} MiB are free",
                          bytes >> 20, free_bytes >> 20),
              ENOMEM);
}

// Behind the file's policers, whose buckets they are.
Result<void> take_prefixes(const config::FiltersConfig& config, const FilterSurroundings& around,
                           const FilterState* before, FilterState& out) {
  if (auto room = check_room(config, before, around.free_bytes); !room) return room;
  const unsigned threads = std::max(around.threads, 1u);
  out.prefix_policers.resize(config.policers.size());
  for (const config::PolicedSet& each : config::policed_sets(config)) {
    const PolicerConfig& of = config.policers[each.policer];
    const config::PrefixSetConfig& set = config.sets[each.set];
    std::shared_ptr<PrefixPolicer>& policer = out.prefix_policers[each.policer];
    if (!policer) {
      auto taken = take_prefix_policer(of, threads, before);
      if (!taken) return tl::unexpected(taken.error());
      policer = std::move(*taken);
    }
    const auto* const had = policed_before(before, of, set.name);
    auto numbers =
        PrefixNumbers::build(set, out.sockets, std::make_shared<PrefixBuckets>(policer->profile()),
                             had != nullptr ? had->numbers : nullptr);
    if (!numbers) return tl::unexpected(numbers.error());
    for (size_t i = 0; i < out.views.size(); ++i)
      out.views[i].policed.push_back({policer.get(), (*numbers)->tables4(out.sockets[i]),
                                      (*numbers)->tables6(out.sockets[i]),
                                      (*numbers)->pages().data()});
    out.policed.push_back({each.policer, std::move(*numbers)});
  }
  return {};
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
  return take_prefixes(config, around, before, out);
}

}  // namespace hecto::router
