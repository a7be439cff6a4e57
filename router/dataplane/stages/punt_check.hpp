// The inbound policies of what goes to Linux without having been forwarded or delivered here: what
// classify and the stages behind it refuse for Linux to look at (options, link-local senders,
// broadcast, frames with several tags). Linux would deliver or forward it, and its own policies do
// not hold on twins.
//
//   not for us, but forwarded    `fwd`            for us, or to a group of hosts    `in`
//   where nobody here knows      both must let it pass
//
// What Linux would send on by a device that it alone has meets the outbound policies, too: nobody
// would see it again. With policy rules that may be anything.
#pragma once

#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/esp_state.hpp"

namespace hecto::router {

struct RuleTables;
class VrfTables;

class PuntCheck {
 public:
  explicit PuntCheck(const EspState& state) : state_(state) {}

  // Of all that is refused so far: what may not go to Linux is refused for that instead. `rules`:
  // null, or Linux has policy rules, and may send it another way than the tables say.
  void check(Chunk& chunk, const TableViews& tables, const RuleTables* rules) const noexcept;

 private:
  Reason check(const Refused& refused, const VrfTables& tables) const noexcept;

  EspState state_;
};

}  // namespace hecto::router
