// All policies, by direction, selector, origin and if_id: the only writer of the SPDs that workers
// read, one for each direction.
//
// Owned by the control thread; not thread-safe. What comes and goes is seen by workers with
// publish(), all of a turn at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/policy.hpp"
#include "router/ipsec/esp/spd.hpp"
#include "router/ipsec/esp/unseen_spd.hpp"
#include "router/ipsec/options.hpp"
#include "router/ipsec/templates.hpp"
#include "router/ipsec/views.hpp"

namespace hecto::router {

class PolicyTable {
 public:
  // Both must outlive it.
  PolicyTable(const IpsecOptions& options, Templates& templates);
  PolicyTable(const PolicyTable&) = delete;
  PolicyTable& operator=(const PolicyTable&) = delete;

  const esp::Spd& spd(PolicyDirection direction) const {
    return directions_[static_cast<size_t>(direction)].spd;
  }
  const esp::UnseenSpd& unseen(PolicyDirection direction) const {
    return directions_[static_cast<size_t>(direction)].unseen;
  }
  size_t size() const { return entries_.size(); }

  // True: in the place of one with its direction, selector, origin and if_id. ENOSPC: max_policies
  // are there.
  Result<bool> put(const IpsecPolicy& policy);
  bool remove(const IpsecPolicy& policy);  // false: there was none
  void flush(RouteOrigin origin);

  // One of Linux's for which put() had no room. From now on what no better policy of its direction
  // and family holds for is dropped (policy_left_out), until a resync finds room for all.
  void leave_out(const IpsecPolicy& policy);
  bool incomplete() const;  // some are left out

  // Between the two Linux tells all of its policies. The second removes those that it did not: how
  // many.
  void begin_resync();
  size_t end_resync();

  void publish();
  // What was removed and published, for the caller to destroy when no worker holds it.
  std::vector<std::unique_ptr<esp::Policy>> take_removed() { return std::exchange(removed_, {}); }

  // Policies of one priority whose origins say different things, since the start.
  uint64_t contradictions() const { return contradictions_; }
  std::unordered_map<const esp::Sa*, uint32_t> policies_by_sa() const;
  std::vector<PolicyView> views() const;  // by direction, as they are looked at

 private:
  struct Key {
    PolicyDirection direction;
    IpsecSelector selector;
    RouteOrigin origin;
    uint32_t if_id;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    IpsecPolicy policy;
    std::unique_ptr<esp::Policy> live;  // what workers use
    uint32_t generation = 0;            // of Linux's state, in which it was confirmed last
  };
  using Map = std::unordered_map<Key, Entry, Hash>;
  // Of a family: what stands for the policies that found no room, at the rank of the best of them.
  struct LeftOut {
    std::unique_ptr<esp::Policy> live;  // null: none was left out
    std::optional<uint32_t> seen;       // best priority of those since the last resync began
  };
  // What workers read, and the policies in the order in which they are looked at.
  struct Direction {
    explicit Direction(lookup::Reclaimer& readers) : spd(readers), unseen(readers) {}
    esp::Spd spd;
    esp::UnseenSpd unseen;
    std::array<LeftOut, 2> left_out;                        // by family
    std::map<std::pair<uint32_t, uint64_t>, Entry*> order;  // by priority, serial
    // Until publish(). What comes and goes in one turn is in both.
    std::vector<esp::Policy*> inserted;
    std::vector<std::unique_ptr<esp::Policy>> removed;
  };

  static Key key_of(const IpsecPolicy& policy);
  std::unique_ptr<esp::Policy> make(const IpsecPolicy& policy);
  Direction& direction_of(const Entry& entry) {
    return directions_[static_cast<size_t>(entry.policy.direction)];
  }
  void link(Entry& entry);
  void unlink(Entry& entry);
  void remove(Map::iterator at);
  size_t remove_if(const std::function<bool(const Entry&)>& which);
  void warn_of_contradictions(const IpsecPolicy& policy);
  void publish(Direction& direction);
  void stand_in(Direction& direction, Family family, std::optional<uint32_t> priority);
  void flush_left_out();

  const IpsecOptions& options_;
  Templates& templates_;
  Map entries_;
  std::array<Direction, 3> directions_;  // by PolicyDirection
  std::vector<std::unique_ptr<esp::Policy>> removed_;
  uint64_t serial_ = 0;
  uint32_t generation_ = 1;  // of Linux's state
  uint64_t contradictions_ = 0;
};

}  // namespace hecto::router
