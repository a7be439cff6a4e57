#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/mark.hpp"

namespace hecto::cli {

int clear(const Session& session) {
  const std::string file = mark_file(session.arguments().socket);
  if (file.empty()) return session.fail("clear: neither $XDG_STATE_HOME nor $HOME is set");
  const auto summary = session.get("/v1/summary");
  if (!summary) return kFailed;
  json mark = {{"pid", at(json::parse(*summary, nullptr, false), "pid")},
               {"at_unix_s", std::time(nullptr)}};
  for (const std::string noun : kMarkedNouns) {
    const auto answer = session.get("/v1/" + noun);
    if (!answer) return kFailed;
    mark[noun] = json::parse(*answer, nullptr, false);
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  std::ofstream stream(file, std::ios::trunc);
  stream << mark.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  stream.flush();
  if (!stream) return session.fail("clear: " + file + ": " + std::strerror(errno));
  return kDone;
}

}  // namespace hecto::cli
