#include "router/api/check_machine.hpp"

#include "config/placement/start_checks.hpp"
#include "router/api/roles.hpp"

namespace hecto::router {

config::Problems check_machine(const config::Config& config, const config::Topology& topology) {
  config::Problems problems = config::check_start(config, topology);
  if (const auto rules = AccessRules::from(config); !rules)
    problems.push_back(config.file + ": " + rules.error().message);
  return problems;
}

}  // namespace hecto::router
