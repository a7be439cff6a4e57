#include "router/cli/session.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;

}  // namespace

Session::Session(const Arguments& arguments) : arguments_(arguments) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  style_.whole = ::isatty(STDOUT_FILENO) != 1;
  style_.color = !style_.whole && (no_color == nullptr || *no_color == '\0') && !dumb;
}

void Session::out(const std::string& text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  if (errno == EPIPE) std::_Exit(kDone);  // `hecto show routes --all | head`
  std::_Exit(fail(std::string("cannot write: ") + std::strerror(errno)));
}

void Session::note(const std::string& line) const {
  std::fprintf(stderr, "%s\n", printable(line).c_str());
}

int Session::fail(const std::string& line) const {
  note("hecto: " + line);
  return kFailed;
}

int Session::wrong_usage(const std::string& line) const {
  note("hecto: " + arguments_.verb + ": " + line + " (see hecto " + arguments_.verb + " --help)");
  return kWrongUsage;
}

std::optional<std::string> Session::ask(const router::HttpRequest& request,
                                        std::chrono::milliseconds timeout) const {
  auto answer = router::http_request(arguments_.socket, request, timeout);
  if (!answer) {
    fail(answer.error().message);
    return std::nullopt;
  }
  if (answer->status == 200) return std::move(answer->body);
  const json body = json::parse(answer->body, nullptr, false);
  if (arguments_.json && !body.is_discarded()) out(answer->body);
  if (has(body, "error")) {
    fail(text(body, "error"));
    for (const json& problem : list(body, "problems")) note("  " + plain(problem));
  } else {
    fail("the router at " + arguments_.socket + " answered " + std::to_string(answer->status) +
         " to " + request.method + " " + request.path + ": is it another version?");
  }
  return std::nullopt;
}

std::optional<std::string> Session::get(const std::string& path,
                                        std::map<std::string, std::string> query) const {
  router::HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.query = std::move(query);
  return ask(request, kQuick);
}

int Session::show(const std::optional<std::string>& answer,
                  const std::function<std::string(const json&, Style)>& render) const {
  if (!answer) return kFailed;
  if (arguments_.json) {
    out(*answer);
    return kDone;
  }
  const json body = json::parse(*answer, nullptr, false);
  if (!body.is_object()) {
    return fail("the router at " + arguments_.socket + " answered no JSON: is it hectod?");
  }
  out(render(body, style_));
  return kDone;
}

}  // namespace hecto::cli
