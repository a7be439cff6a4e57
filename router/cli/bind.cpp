// hecto bind, unbind, prepare: NICs between the kernel and DPDK.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/machine/binding.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/local.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;

// This end of the SSH session that the command was typed in: the third word.
std::string session_address() {
  const char* connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr) return {};
  std::istringstream words(connection);
  std::string client, port, here;
  words >> client >> port >> here;
  return here;
}

config::BindOptions options_of(const Arguments& a) {
  config::BindOptions options;
  options.force = a.force;
  options.noiommu = a.noiommu;
  if (a.vfs > 0) options.vfs = a.vfs;
  options.session_address = session_address();
  return options;
}

int tell(const Session& session, const config::Lines& done, const config::Lines& failed) {
  if (session.arguments().json) {
    session.out(json{{"ok", failed.empty()}, {"done", done}, {"failed", failed}}.dump(
                    -1, ' ', false, json::error_handler_t::replace) +
                "\n");
  } else {
    for (const std::string& line : done) session.out(printable(line) + "\n");
    for (const std::string& line : failed) session.fail(line);
  }
  return failed.empty() ? kDone : kFailed;
}

}  // namespace

int bind(const Session& session) {
  config::MachineFiles files;
  config::KernelCalls kernel;
  const Arguments& a = session.arguments();
  const auto lines = config::bind_devices(files, kernel, a.devices, options_of(a));
  return lines ? tell(session, *lines, {}) : tell(session, {}, {lines.error().message});
}

int unbind(const Session& session) {
  const Arguments& a = session.arguments();
  if (a.devices.empty() != a.all) return session.wrong_usage("which device? or --all");
  config::MachineFiles files;
  config::KernelCalls kernel;
  const auto unbound = config::unbind_devices(files, kernel, a.devices, a.force);
  return unbound ? tell(session, unbound->done, unbound->failed)
                 : tell(session, {}, {unbound.error().message});
}

int prepare(const Session& session) {
  const auto loaded = load_config(session, session.arguments().object);
  if (!loaded) return loaded.error();
  const auto topology = config::read_topology();
  if (!topology) return session.fail("topology: " + topology.error());
  const auto placement = config::place(*loaded, *topology);
  if (!placement) return session.fail(placement.error());
  config::MachineFiles files;
  config::KernelCalls kernel;
  const auto prepared =
      config::prepare(files, kernel, *loaded, *placement, options_of(session.arguments()));
  return tell(session, prepared.done, prepared.failed);
}

}  // namespace hecto::cli
