#include "router/cli/local.hpp"

#include <nlohmann/json.hpp>

#include "config/file/load.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {

using nlohmann::json;

tl::expected<config::Config, int> load_config(const Session& session) {
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

int check(const Session& session) {
  const auto loaded = load_config(session);
  return loaded ? kDone : loaded.error();
}

}  // namespace hecto::cli
