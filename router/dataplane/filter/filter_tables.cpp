#include "router/dataplane/filter/filter_tables.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>

#include "router/dataplane/filter/filter_compiler.hpp"
#include "router/dataplane/filter/filter_places.hpp"

namespace hecto::router {

FilterTables::FilterTables() : state_(std::make_unique<FilterState>()) {}
FilterTables::~FilterTables() = default;

Result<std::shared_ptr<const FilterTables>> FilterTables::compile(
    const config::FiltersConfig& config, const FilterSurroundings& around,
    const FilterTables* before) {
  const std::shared_ptr<FilterTables> made(new FilterTables);
  const FilterState* const old = before != nullptr ? before->state_.get() : nullptr;
  if (auto done = compile_filters(config, around, old, *made->state_); !done)
    return tl::unexpected(done.error());
  return made;
}

std::shared_ptr<const FilterTables> FilterTables::bound(const config::FiltersConfig& config,
                                                        const FilterSurroundings& around) const {
  const std::shared_ptr<FilterTables> made(new FilterTables);
  share_filters(*state_, *made->state_);
  bind_filters(config, around, *made->state_);
  return made;
}

std::vector<std::string> FilterTables::notes(size_t filter) const {
  std::vector<std::string> out = state_->filters[filter]->notes;
  const std::vector<std::string>& places = state_->places[filter];
  out.insert(out.end(), places.begin(), places.end());
  return out;
}

size_t FilterTables::filters() const {
  return state_->filters.size();
}

size_t FilterTables::rules(size_t filter) const {
  return state_->filters[filter]->rules.size();
}

FilterCount FilterTables::count(size_t filter, size_t rule) const {
  const FilterState::Known& known = *state_->filters[filter];
  return state_->slots->count(known.slots[rule < known.rules.size() ? rule + 1 : 0]);
}

bool FilterTables::same_rules(const FilterTables& other) const {
  return state_->filters == other.state_->filters;
}

std::vector<FilterStatus> FilterTables::status() const {
  std::vector<FilterStatus> out;
  for (size_t f = 0; f < state_->filters.size(); ++f) {
    const FilterState::Known& filter = *state_->filters[f];
    FilterStatus status;
    status.name = filter.name;
    status.notes = notes(f);
    status.otherwise = state_->slots->count(filter.slots[0]);
    for (size_t r = 0; r < filter.rules.size(); ++r)
      status.rules.push_back({filter.rules[r].empty() ? std::to_string(r + 1) : filter.rules[r],
                              state_->slots->count(filter.slots[r + 1])});
    for (const auto& context : filter.contexts) status.bytes += context->bytes();
    out.push_back(std::move(status));
  }
  return out;
}

std::vector<PolicerStatus> FilterTables::policers() const {
  std::vector<PolicerStatus> out;
  for (size_t i = 0; i < state_->policers.size(); ++i) {
    const FilterState::PolicerKnown& known = state_->policers_known[i];
    if (known.name.empty()) continue;
    const bool each = i < state_->prefix_policers.size() && state_->prefix_policers[i] != nullptr;
    out.push_back(each ? state_->prefix_policers[i]->status() : state_->policers[i]->status());
    if (each) out.back().prefixes = 0;
    for (const FilterState::Policed& policed : state_->policed)
      if (each && policed.policer == i) *out.back().prefixes += policed.numbers->size();
    out.back().name = known.name;
    out.back().note = known.note;
  }
  return out;
}

std::vector<PolicedPrefix> FilterTables::most_red(const std::string& policer, size_t most) const {
  std::vector<PolicedPrefix> out;
  for (const FilterState::Policed& policed : state_->policed)
    if (state_->prefix_policers[policed.policer]->config().name == policer)
      std::ranges::move(policed.numbers->most_red(most), std::back_inserter(out));
  std::ranges::stable_sort(out, std::ranges::greater(),
                           [](const PolicedPrefix& each) { return each.red.packets; });
  if (out.size() > most) out.erase(out.begin() + static_cast<ptrdiff_t>(most), out.end());
  return out;
}

const std::string& FilterTables::filter_name(unsigned filter) const {
  static const std::string kBarrier = "(not ready)";
  return filter > state_->filters.size() ? kBarrier : state_->filters[filter - 1]->name;
}

std::string FilterTables::rule_name(unsigned filter, uint32_t rule) const {
  const std::string& own = state_->filters[filter - 1]->rules[rule - 1];
  return own.empty() ? std::to_string(rule) : own;
}

size_t FilterTables::write_names(unsigned filter, uint32_t rule,
                                 std::span<char, kNames_bytes> to) const noexcept {
  const std::string& name = filter_name(filter);
  char* at = std::copy_n(name.data(), std::min(name.size(), config::kMostFilterName), to.data());
  *at++ = 0;
  if (rule == 0) return static_cast<size_t>(at - to.data());
  const std::string& own = state_->filters[filter - 1]->rules[rule - 1];
  if (own.empty())
    at = std::to_chars(at, to.data() + to.size(), rule).ptr;
  else
    at = std::copy_n(own.data(), std::min(own.size(), config::kMostFilterName), at);
  return static_cast<size_t>(at - to.data());
}

uint64_t FilterTables::bytes() const {
  uint64_t sum = state_->slots->bytes() + (state_->sets ? state_->sets->bytes() : 0);
  for (const auto& filter : state_->filters)
    for (const auto& context : filter->contexts) sum += context->bytes();
  for (const FilterState::Policed& policed : state_->policed)
    sum += policed.numbers->bytes() + policed.numbers->buckets()->bytes();
  return sum;
}

unsigned FilterTables::contexts() const {
  return state_->built;
}

WantedNeighbors* FilterTables::wanted() const {
  return state_->wanted.get();
}

const FilterViews& FilterTables::views(int socket) const noexcept {
  for (size_t i = 0; i < state_->sockets.size(); ++i)
    if (state_->sockets[i] == socket) return state_->views[i];
  return state_->views.front();
}

}  // namespace hecto::router
