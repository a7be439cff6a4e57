// Routes, SAs and policies that the API was asked to keep, and the file of the state directory in
// which they lie. A change is written beside the file before it is made, and takes its place behind
// it. A file that is damaged or somebody else's is left alone.
//
// Errors are one line. Control only; a change waits for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "config/file/kept_items.hpp"
#include "router/control/state_file.hpp"
#include "router/ipsec/esp/policy.hpp"

namespace hecto::router {

using RouteKey = std::pair<lookup::IpPrefix, uint32_t>;  // and the metric that it gets
RouteKey key_of(const config::RouteConfig& route);

class KeptFile {
 public:
  using Items = config::KeptItems;

  KeptFile(const std::string& directory, const std::string& api_socket);

  void read();  // at the start
  const Items& items() const { return items_; }
  bool blocked() const { return !blocked_.empty(); }  // what is there is not ours
  // Refused while it is blocked. Who moved the file away may go on without a restart.
  Result<void> may_write();
  // `apply` goes between the two: what it refuses leaves the file as it was.
  Result<void> change(Items next, const std::function<Result<void>()>& apply);
  // What is left of them; the rest is gone already, so the file follows when it can.
  void follow(Items next);
  void tick();  // each second

  bool keeps(const lookup::IpPrefix& prefix, uint32_t metric) const {
    return route_keys_.contains({prefix, metric});
  }
  bool keeps(const IpsecPolicy& policy) const;
  std::vector<std::string> lines() const;  // what is not as it was asked, now

 private:
  void take(Items items);
  void write_again();

  const std::string socket_;
  const StateFile file_;
  Items items_;
  std::set<RouteKey> route_keys_;
  std::vector<IpsecPolicy> policies_;
  std::string blocked_;  // why
  std::string stale_;    // the file is not as items_: why
};

}  // namespace hecto::router
