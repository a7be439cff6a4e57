#include <fmt/format.h>

#include <csignal>
#include <thread>

#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{100};

volatile std::sig_atomic_t trace_interrupted = 0;

json trace_filter(const Arguments& arguments) {
  json filter = {{"count", arguments.count}};
  const std::pair<const char*, const std::string*> words[] = {{"from", &arguments.from},
                                                              {"to", &arguments.to},
                                                              {"port", &arguments.port},
                                                              {"interface", &arguments.interface},
                                                              {"protocol", &arguments.protocol}};
  for (const auto& [key, value] : words) {
    if (!value->empty()) filter[key] = *value;
  }
  if (arguments.transport_port > 0) filter["transport_port"] = arguments.transport_port;
  return filter;
}

router::HttpRequest trace_request(const char* method, const std::string& id = {}) {
  router::HttpRequest made;
  made.method = method;
  made.path = "/v1/trace";
  if (!id.empty()) made.query["id"] = id;
  return made;
}

// Prints what came since `shown`; the number of the last trace printed.
uint64_t print_new(const Session& session, const json& answer, uint64_t shown) {
  for (const json& trace : list(answer, "traces")) {
    if (whole(trace, "number") <= shown) continue;
    shown = whole(trace, "number");
    if (!session.arguments().json) session.out(render_trace(trace, session.style()) + "\n");
  }
  return shown;
}

}  // namespace

int trace(const Session& session) {
  const Arguments& arguments = session.arguments();
  router::HttpRequest start = trace_request("POST");
  start.body = trace_filter(arguments).dump(-1, ' ', false, json::error_handler_t::replace);
  const auto started = session.ask(start, kQuick);
  if (!started) return kFailed;
  const std::string id = text(json::parse(*started, nullptr, false), "id");

  std::signal(SIGINT, [](int) { trace_interrupted = 1; });
  std::signal(SIGTERM, [](int) { trace_interrupted = 1; });
  const auto until = Clock::now() + std::chrono::duration<double>(arguments.timeout_s);
  uint64_t shown = 0;
  bool done = false;
  while (!done && trace_interrupted == 0 && Clock::now() < until) {
    router::HttpRequest read = trace_request("GET", id);
    read.query["after"] = std::to_string(shown);
    const auto answer = session.ask(read, kQuick);
    if (!answer) return kFailed;
    const json body = json::parse(*answer, nullptr, false);
    shown = print_new(session, body, shown);
    done = flag(body, "done");
    if (!done) std::this_thread::sleep_for(kPoll);
  }
  const auto last = session.ask(trace_request("DELETE", id), kQuick);
  if (!last) return kFailed;
  shown = print_new(session, json::parse(*last, nullptr, false), shown);
  if (arguments.json) session.out(*last);
  if (shown >= arguments.count) return kDone;
  session.note(
      fmt::format("hecto: trace: {} of {} packets came{}", shown, arguments.count,
                  trace_interrupted != 0
                      ? ""
                      : fmt::format(" in {:g} s; --timeout S waits longer", arguments.timeout_s)));
  return shown > 0 ? kDone : kFailed;
}

}  // namespace hecto::cli
