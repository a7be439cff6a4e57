// reload, diff, confirm, rollback: the configuration as a whole.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "router/api/backend.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/fields.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using router::HttpRequest;

constexpr std::chrono::milliseconds kReloadTime{120'000};  // ports may have to start

std::string render_changes(const json& answer, Style style) {
  std::string out;
  for (const json& change : list(answer, "changes")) out += printable(plain(change)) + "\n";
  if (out.empty()) return text(answer, "file") + ": nothing to change\n";
  if (!has(answer, "confirm_s")) return out;
  const std::string file = text(answer, "file"), restart = text(answer, "restart_reads");
  out +=
      painted(paragraph("! ", fmt::format("not confirmed: what ran before comes back in {} s; "
                                          "hecto confirm keeps this, hecto rollback goes back now",
                                          text(answer, "confirm_s"))),
              Paint::kWarn, style);
  return out +
         painted(paragraph("! ", fmt::format("a restart of hectod meanwhile reads {}{}", restart,
                                             restart == file ? ", the new one" : "")),
                 Paint::kWarn, style);
}

// Silence is what confirm has to say.
std::string render_nothing(const json&, Style) {
  return {};
}

// 90, 90s, 5m or 1h in seconds.
std::optional<uint32_t> seconds_of(const std::string& text) {
  uint32_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string_view unit(end, static_cast<size_t>(last - end));
  if (error != std::errc() || number > router::kConfirmLimits.high) return std::nullopt;
  const uint32_t each = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const uint64_t seconds = uint64_t{number} * each;
  if (seconds < router::kConfirmLimits.low || seconds > router::kConfirmLimits.high)
    return std::nullopt;
  return static_cast<uint32_t>(seconds);
}

// A request whose body names the file, where one is given, and what else there is.
int post(const Session& session, const char* path, json body) {
  if (const std::string& file = session.arguments().object; !file.empty()) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(file, error);
    if (error) return session.fail(file + ": " + error.message());
    body["file"] = absolute.lexically_normal().string();
  }
  HttpRequest made;
  made.method = "POST";
  made.path = path;
  if (!body.empty()) made.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  const bool quiet = made.path == "/v1/confirm";
  return session.show(session.ask(made, kReloadTime), quiet ? render_nothing : render_changes);
}

}  // namespace

int reload(const Session& session) {
  json body = json::object();
  if (const std::string& within = session.arguments().confirm; !within.empty()) {
    const auto seconds = seconds_of(within);
    if (!seconds)
      return session.wrong_usage(
          fmt::format("--confirm: \"{}\" is no time up to a day; use 90s, 5m or 1h", within));
    body["confirm_s"] = *seconds;
  }
  return post(session, "/v1/reload", std::move(body));
}

int diff(const Session& session) {
  return post(session, "/v1/diff", json::object());
}

int confirm(const Session& session) {
  return post(session, "/v1/confirm", json::object());
}

int rollback(const Session& session) {
  return post(session, "/v1/rollback", json::object());
}

}  // namespace hecto::cli
