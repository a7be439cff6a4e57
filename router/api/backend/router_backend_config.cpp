// Orders of the API about the configuration as a whole, and what the summary says of it.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/file/load.hpp"
#include "router/api/audit.hpp"
#include "router/api/backend/router_backend.hpp"
#include "router/api/request.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/reload_control.hpp"
#include "router/control/route_control.hpp"
#include "router/control/router.hpp"
#include "router/control/running.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;
using Clock = ReloadControl::Clock;

std::string_view what_changed(const std::vector<std::string>& problems) {
  const bool changed = std::any_of(problems.begin(), problems.end(), [](const std::string& line) {
    return line.starts_with(kNotPutBack);
  });
  return changed ? "and not all could be put back" : "nothing was changed";
}

tl::unexpected<ApiError> refused(const std::string& file,
                                 const std::vector<std::string>& problems) {
  return api_fail(409,
                  fmt::format("{} is refused: {} problem{}, {}", file, problems.size(),
                              problems.size() == 1 ? "" : "s", what_changed(problems)),
                  problems);
}

// Lines for the operator about the file `file`, which is what runs but for what stands in them.
void tell_of_file(json& summary, const std::string& file, const config::FileDigest& runs,
                  const std::string& started_with) {
  const auto on_disk = config::digest_of(file);
  const bool same = on_disk && on_disk->value == runs.value;
  summary["config_on_disk"] = !on_disk ? "unreadable" : same ? "same" : "changed";
  json& warnings = summary["warnings"];
  if (!on_disk)
    warnings.push_back(file + " cannot be read any more; what was read of it runs on");
  else if (!same)
    warnings.push_back(file +
                       " is not what runs: hecto diff shows the difference, hecto reload "
                       "takes it in");
  if (file != started_with)
    warnings.push_back(fmt::format("{} runs; a restart reads {}", file, started_with));
}

}  // namespace

// The file is looked at on the caller's thread: control does not wait for a disk.
ApiResult RouterBackend::summary() {
  config::FileDigest runs;
  auto shown = on_control([&]() -> ApiResult {
    json all = answer(Noun::kSummary);
    runs = router_.config().digest;
    const ReloadControl& reloads = router_.reloads();
    all["unconfirmed_s"] = nullptr;
    if (!reloads.unconfirmed()) return all;
    const auto left = reloads.left(Clock::now()).count();
    all["unconfirmed_s"] = left;
    all["warnings"].push_back(
        fmt::format("the configuration is not confirmed: the one before it comes back in {} s; "
                    "hecto confirm keeps it",
                    left));
    return all;
  });
  if (shown) tell_of_file(*shown, (*shown)["config_file"], runs, started_with_);
  return shown;
}

tl::expected<config::Config, ApiError> RouterBackend::read(const std::optional<std::string>& file) {
  auto path = file;
  if (!path) path = router_.commands().call<std::string>([this] { return router_.config().file; });
  if (!path) return tl::unexpected(stopping().error());
  auto wanted = config::load(*path, limits_.of_load());
  if (!wanted) return refused(*path, wanted.error());
  if (log_level_) wanted->log_level = *log_level_;
  return std::move(*wanted);
}

// The file and its route files are read and checked on the caller's thread; only the change itself
// takes control's time. Answered when the route files are in, which takes several turns.
ApiResult RouterBackend::reload(const std::optional<std::string>& file,
                                std::optional<uint32_t> confirm_s) {
  const auto wanted = read(file);
  if (!wanted) return tl::unexpected(wanted.error());
  std::optional<std::chrono::seconds> within;
  if (confirm_s) within = std::chrono::seconds(*confirm_s);
  const std::lock_guard one_at_a_time(reloading_);
  auto files = route_files(*wanted);
  if (!files) return stopping();
  const auto compiled = filters(wanted->filters);
  return changed_over_turns([&](ReloadControl& reloads, const Parts& parts) -> ApiResult {
    parts.filters.offer(compiled);
    const auto changes = reloads.reload(parts, *wanted, *files, within, Clock::now());
    if (!changes) return refused(wanted->file, changes.error());
    json done = {{"file", wanted->file}, {"changes", *changes}};
    if (reloads.unconfirmed()) {
      done["confirm_s"] = *confirm_s;
      done["restart_reads"] = started_with_;
    }
    return done;
  });
}

// For the configuration that runs when they are loaded: `reloading_` is held till then.
std::optional<ReadRouteFiles> RouterBackend::route_files(const config::Config& wanted) {
  const auto needed = router_.commands().call<WantedRouteFiles>(
      [&] { return route_files_of_reload(router_.parts(), wanted); });
  if (!needed) return std::nullopt;
  return read_route_files(*needed);
}

// On the caller's thread.
std::shared_ptr<FilterJob> RouterBackend::filters(const config::FiltersConfig& wanted) {
  using Job = std::shared_ptr<FilterJob>;
  const auto job =
      router_.commands().call<Job>([&] { return router_.filters().job(wanted); }).value_or(nullptr);
  if (job) job->run();
  return job;
}

ApiResult RouterBackend::rollback() {
  const std::lock_guard one_at_a_time(reloading_);
  const auto needed = router_.commands().call<WantedRouteFiles>(
      [this] { return router_.reloads().route_files_of_rollback(router_.parts()); });
  if (!needed) return stopping();
  ReadRouteFiles files = read_route_files(*needed);
  const auto earlier = router_.commands().call<config::FiltersConfig>(
      [this] { return router_.reloads().filters_of_rollback(); });
  const auto compiled = earlier ? filters(*earlier) : nullptr;
  return changed_over_turns([&](ReloadControl& reloads, const Parts& parts) -> ApiResult {
    parts.filters.offer(compiled);
    const auto changes = reloads.rollback(parts, files);
    if (!changes) return api_fail(409, std::string(what_changed(changes.error())), changes.error());
    return json{{"file", parts.running.config.file}, {"changes", *changes}};
  });
}

ApiResult RouterBackend::changed_over_turns(
    const std::function<ApiResult(ReloadControl&, const Parts&)>& change) {
  auto answer = router_.commands().call_over_turns<ApiResult>(
      [this, &change](std::function<void(ApiResult)> keep) {
        auto done = change(router_.reloads(), router_.parts());
        if (!done) return keep(std::move(done));
        router_.routes().when_done(
            [keep = std::move(keep), done = std::move(done)](const Result<void>&) { keep(done); });
      });
  return answer ? std::move(*answer) : stopping();
}

ApiResult RouterBackend::diff(const std::optional<std::string>& file) {
  const auto wanted = read(file);
  if (!wanted) return tl::unexpected(wanted.error());
  const auto files = route_files(*wanted);
  if (!files) return stopping();
  return on_control([&]() -> ApiResult {
    const auto changes = preview(router_.parts(), *wanted, *files);
    if (!changes) return api_fail(409, wanted->file + " would be refused", changes.error());
    return json{{"file", wanted->file}, {"changes", *changes}};
  });
}

ApiResult RouterBackend::confirm() {
  return on_control([this]() -> ApiResult {
    if (auto done = router_.reloads().confirm(); !done) return api_fail(409, done.error().message);
    return json{{"file", router_.config().file}};
  });
}

// That of the file that runs now.
bool RouterBackend::is_http_token(std::string_view text) {
  const auto same = router_.commands().call<bool>([this, text] {
    const auto token = router_.config().api_http_token.bytes();
    unsigned differs = token.empty() || token.size() != text.size();
    for (size_t i = 0; i < text.size() && i < token.size(); ++i)
      differs |= token[i] ^ static_cast<uint8_t>(text[i]);
    return differs == 0;
  });
  return same.value_or(false);
}

// Whatever log.level says: it goes to where the log goes, by a logger of its own.
void RouterBackend::audit(const std::string& line, bool done) {
  static spdlog::logger trail = [] {
    const auto& sinks = spdlog::default_logger()->sinks();
    return spdlog::logger("audit", sinks.begin(), sinks.end());
  }();
  trail.log(done ? spdlog::level::info : spdlog::level::warn, "audit: {}", line);
}

void RouterBackend::reload_running_file(std::optional<uint32_t> uid, int pid) {
  const auto done = [this]() -> ApiResult {
    try {
      return reload(std::nullopt, std::nullopt);
    } catch (const std::exception& thrown) {  // there is nobody above who would catch it
      return api_fail(500, thrown.what());
    }
  }();
  audit(audit_line("reload (SIGHUP)", {uid, {}, pid}, to_answer(done)), done.has_value());
}

}  // namespace hecto::router
