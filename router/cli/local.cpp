#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/load.hpp"
#include "config/placement.hpp"
#include "config/topology.hpp"
#include "router/api/plan_json.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

// The file, or its problems told.
tl::expected<config::Config, int> load(const Session& session) {
  const Arguments& arguments = session.arguments();
  auto loaded = config::load(arguments.object);
  const config::Problems problems = loaded ? config::Problems() : loaded.error();
  if (arguments.json && (!loaded || arguments.verb == "check")) {
    const json answer = {
        {"file", arguments.object}, {"ok", problems.empty()}, {"problems", problems}};
    session.out(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  } else {
    for (const std::string& problem : problems) session.note(problem);
  }
  if (!loaded) return tl::unexpected<int>(kFailed);
  return std::move(*loaded);
}

}  // namespace

int check(const Session& session) {
  const auto loaded = load(session);
  return loaded ? kDone : loaded.error();
}

int plan(const Session& session) {
  const Arguments& arguments = session.arguments();
  const auto loaded = load(session);
  if (!loaded) return loaded.error();
  const auto topology = arguments.topology.empty() ? config::read_topology()
                                                   : config::read_topology(arguments.topology);
  if (!topology) return session.fail(topology.error());
  const auto placement = config::place(*loaded, *topology);
  if (!placement) return session.fail(placement.error());
  const std::string text = config::describe(*placement, *loaded, *topology);
  const json answer = router::plan_json(*placement, text);
  return session.show(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                      render_plan);
}

}  // namespace hecto::cli
