#include "router/cli/local.hpp"

#include <nlohmann/json.hpp>

#include "config/box/topology.hpp"
#include "config/file/load.hpp"
#include "router/api/check_machine.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {

using nlohmann::json;

namespace {

void tell(const Session& session, const config::Problems& problems) {
  const Arguments& arguments = session.arguments();
  if (!arguments.json) {
    for (const std::string& problem : problems) session.note(problem);
    return;
  }
  const json answer = {
      {"file", arguments.object}, {"ok", problems.empty()}, {"problems", problems}};
  session.out(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

config::Problems check_here(const config::Config& config) {
  const auto topology = config::read_topology();
  if (!topology) return {"topology: " + topology.error()};
  return router::check_machine(config, *topology);
}

}  // namespace

tl::expected<config::Config, int> load_config(const Session& session) {
  auto loaded = config::load(session.arguments().object);
  if (loaded) return std::move(*loaded);
  tell(session, loaded.error());
  return tl::unexpected<int>(kFailed);
}

int check(const Session& session) {
  const auto loaded = load_config(session);
  if (!loaded) return loaded.error();
  config::Problems problems;
  if (!session.arguments().elsewhere) problems = check_here(*loaded);
  tell(session, problems);
  return problems.empty() ? kDone : kFailed;
}

}  // namespace hecto::cli
