#include "router/dataplane/filter/telling.hpp"

#include <fmt/format.h>

namespace hecto::router {

bool add_telling(const config::FilterRuleConfig& rule, const std::string& name,
                 const FilterSurroundings& around, FilterView& view,
                 std::vector<std::string>& notes) {
  FilterTelling telling;
  telling.sample = rule.sample;
  telling.log = rule.log && around.log != nullptr;
  if (!rule.mirror.empty()) {
    telling.mirror = around.port ? around.port(rule.mirror) : kNoPort;
    if (telling.mirror == kNoPort)
      notes.push_back(fmt::format("rule {}: mirror: there is no port {} (now)", name, rule.mirror));
  }
  if (!telling.any()) return false;
  FilterAction& action = view.actions.back();
  action.beside = static_cast<uint8_t>(action.beside | FilterAction::kTell);
  view.tellings.resize(view.actions.size());
  view.tellings.back() = telling;
  return telling.log;
}

}  // namespace hecto::router
