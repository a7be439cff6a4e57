#include "router/dataplane/filter/telling.hpp"

namespace hecto::router {

bool add_telling(const config::FilterRuleConfig& rule, uint32_t number,
                 const FilterSurroundings& around, FilterView& view,
                 std::vector<FilterState::Mirror>& mirrors) {
  FilterTelling telling;
  telling.sample = rule.sample;
  telling.log = rule.log && around.log != nullptr;
  const bool mirrored = !rule.mirror.empty();
  if (mirrored) mirrors.push_back({number, rule.mirror});
  if (!mirrored && !telling.any()) return false;
  FilterAction& action = view.actions.back();
  action.beside = static_cast<uint8_t>(action.beside | FilterAction::kTell);
  view.tellings.resize(view.actions.size());
  view.tellings.back() = telling;
  return telling.log;
}

}  // namespace hecto::router
