#include "router/dataplane/filter/filter_tables.hpp"

#include "router/dataplane/filter/filter_compiler.hpp"

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

std::vector<FilterStatus> FilterTables::status() const {
  std::vector<FilterStatus> out;
  for (const FilterState::Known& filter : state_->filters) {
    FilterStatus status;
    status.name = filter.name;
    status.notes = filter.notes;
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
    out.push_back(state_->policers[i]->status());
    out.back().name = known.name;
    out.back().note = known.note;
  }
  return out;
}

const std::string& FilterTables::filter_name(unsigned filter) const {
  return state_->filters[filter - 1].name;
}

std::string FilterTables::rule_name(unsigned filter, uint32_t rule) const {
  const std::string& own = state_->filters[filter - 1].rules[rule - 1];
  return own.empty() ? std::to_string(rule) : own;
}

uint64_t FilterTables::bytes() const {
  uint64_t sum = state_->slots->bytes() + (state_->sets ? state_->sets->bytes() : 0);
  for (const FilterState::Known& filter : state_->filters)
    for (const auto& context : filter.contexts) sum += context->bytes();
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
