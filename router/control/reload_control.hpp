// Reloads, and the way back: the configuration before the last one is kept. A reload that is to be
// confirmed and is not gives way to it by itself.
//
//   reload ─► the earlier one is kept ─► (a time to confirm in) ─► confirm: it stays
//                    ▲                                        └─► none: rollback, said in the log
//                    └──────────────── rollback ◄─────────────┘
//
// Control only.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/parts.hpp"
#include "router/control/reload.hpp"

namespace hecto::router {

class ReloadControl {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kAgain{30};  // a rollback that was refused

  // With a time to confirm in, the earlier configuration comes back unless confirm() is called by
  // then. Refused while one waits for that: what it would go back to would be lost.
  ReloadResult reload(const Parts& parts, const config::Config& wanted, ReadRouteFiles& files,
                      std::optional<std::chrono::seconds> confirm_within, Clock::time_point now);
  Result<void> confirm();
  // Once: what was left is not kept.
  WantedRouteFiles route_files_of_rollback(const Parts& parts) const;
  // That have to be compiled for it: none while it waits to be confirmed, as those are kept.
  config::FiltersConfig filters_of_rollback() const {
    return earlier_ && !filters_ ? earlier_->filters : config::FiltersConfig{};
  }
  ReloadResult rollback(const Parts& parts, ReadRouteFiles& files);
  // A rollback that nobody asked for has its route files read by a thread, and follows later.
  void tick(const Parts& parts, Clock::time_point now);

  bool unconfirmed() const { return deadline_.has_value(); }
  std::chrono::seconds left(Clock::time_point now) const;  // of the time to confirm in

 private:
  void go_back(const Parts& parts, ReadRouteFiles& files, Clock::time_point now);

  std::optional<config::Config> earlier_;
  std::optional<FilterControl::State> filters_;  // that ran with it, while confirm() may not come
  std::optional<Clock::time_point> deadline_;
  std::unique_ptr<RouteFilesReader> reader_;  // of a rollback that nobody asked for
};

}  // namespace hecto::router
