#include "router/control/gate.hpp"

#include <fmt/format.h>

#include <utility>

namespace hecto::router {

bool Gate::update(const Known& known, Clock::time_point now) {
  const bool routes = known.routes || known.inherited || ever_open_ ||
                      (!known.policies_wanted && now - start_ >= kPatience);
  const bool open = known.policies && routes;
  const bool was_open = std::exchange(open_, open);
  if (open && !was_open) {
    opens(known);
  } else if (!open && was_open) {
    log_(LogLevel::kWarning,
         known.policies
             ? "restart: nothing is forwarded (not_ready) until all routes are read"
             : "ipsec: Linux's notifications were lost, and a policy may be among them: nothing is "
               "forwarded (not_ready) until all are read again");
    said_ = now;
    told_ = true;
  } else if (!open && now - said_ >= kRepeat) {
    stays_closed(known, now);
  }
  return open_;
}

void Gate::opens(const Known& known) {
  if (known.inherited && !known.routes)
    log_(LogLevel::kInfo, "restart: forwarding by the tables of the run before, till all is read");
  else if (!known.routes && !ever_open_)
    log_(LogLevel::kWarning,
         fmt::format("Linux's routes were not all read in {} s: forwarding begins with those that "
                     "are known",
                     kPatience.count()));
  else if (told_)
    log_(LogLevel::kInfo, "all routes and policies are known: forwarding");
  ever_open_ = ever_open_ || known.routes || !known.inherited;
  told_ = false;
}

void Gate::stays_closed(const Known& known, Clock::time_point now) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  log_(LogLevel::kWarning,
       fmt::format("nothing is forwarded (not_ready): Linux's {} are not all read, {} s after the "
                   "start",
                   known.policies ? "routes" : "IPsec policies",
                   duration_cast<seconds>(now - start_).count()));
  said_ = now;
  told_ = true;
}

}  // namespace hecto::router
