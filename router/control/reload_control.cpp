#include "router/control/reload_control.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>

#include "router/control/notes.hpp"
#include "router/control/route_control.hpp"
#include "router/control/running.hpp"

namespace hecto::router {
namespace {

// Filters that were compiled for a reload, till it ends, whether it came to ask for them or not.
class Offers {
 public:
  explicit Offers(FilterControl& filters) : filters_(filters) {}
  ~Offers() { filters_.withdraw(); }

 private:
  FilterControl& filters_;
};

}  // namespace

ReloadResult ReloadControl::reload(const Parts& parts, const config::Config& wanted,
                                   ReadRouteFiles& files,
                                   std::optional<std::chrono::seconds> confirm_within,
                                   Clock::time_point now) {
  const Offers offers(parts.filters);
  if (deadline_)
    return tl::unexpected(std::vector<std::string>{
        fmt::format("{} runs and is not confirmed: hecto confirm keeps it, hecto rollback goes "
                    "back; then reload",
                    parts.running.config.file)});
  config::Config before = parts.running.config;
  FilterControl::State filters = parts.filters.state();
  auto changes = router::reload(parts, wanted, files);
  if (!changes || changes->empty()) return changes;
  earlier_ = std::move(before);
  filters_.reset();
  if (confirm_within) {
    filters_ = std::move(filters);
    deadline_ = now + *confirm_within;
    spdlog::info("reload: {} s to confirm {}; else the configuration before it comes back",
                 confirm_within->count(), wanted.file);
  }
  return changes;
}

Result<void> ReloadControl::confirm() {
  if (!deadline_) return fail("nothing waits to be confirmed");
  deadline_.reset();
  filters_.reset();
  return {};
}

WantedRouteFiles ReloadControl::route_files_of_rollback(const Parts& parts) const {
  return earlier_ ? route_files_of_reload(parts, *earlier_) : WantedRouteFiles{};
}

ReloadResult ReloadControl::rollback(const Parts& parts, ReadRouteFiles& files) {
  const Offers offers(parts.filters);
  if (!earlier_)
    return tl::unexpected(
        std::vector<std::string>{"there was no reload to go back from, or it is gone back from"});
  if (filters_) parts.filters.offer(*filters_);
  auto changes = router::reload(parts, *earlier_, files);
  if (!changes) return changes;
  earlier_.reset();
  filters_.reset();
  deadline_.reset();
  return changes;
}

void ReloadControl::tick(const Parts& parts, Clock::time_point now) {
  // What its route files bring is still on the way: nobody could have confirmed it yet.
  if (parts.routes.loading()) return;
  const bool late = deadline_ && now >= *deadline_;
  if (reader_) {
    if (reader_->ended()) return reader_.reset();
    ReadRouteFiles* const files = reader_->take();
    // Meanwhile it may have been confirmed, or somebody has gone back.
    if (files != nullptr && late) return go_back(parts, *files, now);
    if (files != nullptr || reader_->taken()) reader_->let_go();  // and all of it is loaded
    return;
  }
  if (!late) return;
  WantedRouteFiles wanted = route_files_of_rollback(parts);
  ReadRouteFiles none;
  if (wanted.paths.empty()) return go_back(parts, none, now);
  try {
    reader_ = std::make_unique<RouteFilesReader>(std::move(wanted));
  } catch (const std::system_error& no_thread) {
    parts.notes.add(fmt::format("reload: {} was not confirmed in time, and going back waits: {}",
                                parts.running.config.file, no_thread.what()));
    deadline_ = now + kAgain;
  }
}

void ReloadControl::go_back(const Parts& parts, ReadRouteFiles& files, Clock::time_point now) {
  const std::string late =
      fmt::format("reload: {} was not confirmed in time", parts.running.config.file);
  const auto done = rollback(parts, files);
  if (done) return parts.notes.add(late + ": the configuration before it runs again");
  parts.notes.add(
      fmt::format("{}, and going back is refused: {}", late, fmt::join(done.error(), "; ")));
  deadline_ = now + kAgain;
}

std::chrono::seconds ReloadControl::left(Clock::time_point now) const {
  if (!deadline_) return std::chrono::seconds{0};
  return std::chrono::ceil<std::chrono::seconds>(std::max(*deadline_ - now, Clock::duration{0}));
}

}  // namespace hecto::router
