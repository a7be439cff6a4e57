#include "router/cli/local.hpp"

#include <nlohmann/json.hpp>

#include "config/box/topology.hpp"
#include "config/file/filter_check.hpp"
#include "config/file/load.hpp"
#include "router/api/check_machine.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {

using nlohmann::json;

namespace {

// `notes` are of what is legal, and change no exit code.
void tell(const Session& session, const std::string& file, const config::Problems& problems,
          const std::vector<std::string>& notes = {}) {
  if (!session.arguments().json) {
    for (const std::string& problem : problems) session.note(problem);
    for (const std::string& note : notes) session.note("! " + file + ": " + note);
    return;
  }
  const json answer = {
      {"file", file}, {"ok", problems.empty()}, {"problems", problems}, {"notes", notes}};
  session.out(answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

config::Problems check_here(const config::Config& config) {
  const auto topology = config::read_topology();
  if (!topology) return {"topology: " + topology.error()};
  return router::check_machine(config, *topology);
}

}  // namespace

tl::expected<config::Config, int> load_config(const Session& session) {
  return load_config(session, session.arguments().object);
}

tl::expected<config::Config, int> load_config(const Session& session, const std::string& file) {
  auto loaded = config::load(file);
  if (loaded) return std::move(*loaded);
  tell(session, file, loaded.error());
  return tl::unexpected<int>(kFailed);
}

int check(const Session& session) {
  const auto loaded = load_config(session);
  if (!loaded) return loaded.error();
  config::Problems problems;
  if (!session.arguments().elsewhere) problems = check_here(*loaded);
  tell(session, session.arguments().object, problems, config::check_filters(*loaded));
  return problems.empty() ? kDone : kFailed;
}

}  // namespace hecto::cli
