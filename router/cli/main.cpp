// hecto: the operator's command.
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "base/version.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/remote.hpp"

namespace hecto::cli {

int version(const Session& session) {
  const Arguments& arguments = session.arguments();
  router::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/version";
  const auto answer = router::http_request(arguments.socket, request, std::chrono::seconds(2));
  const bool answered = answer && answer->status == 200;
  const nlohmann::json router =
      answered ? nlohmann::json::parse(answer->body, nullptr, false) : nlohmann::json();
  if (arguments.json) {
    const nlohmann::json both = {
        {"hecto", HECTO_VERSION}, {"commit", commit()}, {"router", router}};
    session.out(both.dump() + "\n");
    return kDone;
  }
  session.out("hecto " + std::string(version_and_commit()) + "\n");
  if (answered) {
    const std::string commit =
        has(router, "commit") ? " (" + text(router, "commit") + ")" : std::string();
    session.out(printable("hectod " + text(router, "version") + commit + ", " +
                          text(router, "dpdk_version") + ", at " + arguments.socket) +
                "\n");
  } else {
    session.out(printable(answer ? "the router did not say" : answer.error().message) + "\n");
  }
  return kDone;
}

int run(const Session& session) {
  static const std::pair<const char*, int (*)(const Session&)> verbs[] = {
      {"show", show},         {"check", check},
      {"plan", plan},         {"reload", reload},
      {"diff", diff},         {"confirm", confirm},
      {"rollback", rollback}, {"load-routes", load_routes},
      {"route", route},       {"set", set},
      {"flow", flow},         {"trace", trace},
      {"capture", capture},   {"version", version},
      {"clear", clear},       {"top", top},
      {"doctor", doctor},     {"bind", bind},
      {"unbind", unbind},     {"prepare", prepare},
      {"drain", drain},       {"undrain", undrain},
  };
  for (const auto& [name, verb] : verbs) {
    if (session.arguments().verb == name) return verb(session);
  }
  return kWrongUsage;
}

}  // namespace hecto::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto arguments = hecto::cli::parse_arguments(argc, argv);
    if (!arguments) {
      const auto& ending = arguments.error();
      std::fputs(ending.text.c_str(), ending.code == 0 ? stdout : stderr);
      return ending.code;
    }
    const hecto::cli::Session session(*arguments);
    if (!arguments->hosts.empty()) return hecto::cli::remote(session, {argv, argv + argc});
    return hecto::cli::run(session);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "hecto: %s\n", problem.what());
    return hecto::cli::kFailed;
  }
}
