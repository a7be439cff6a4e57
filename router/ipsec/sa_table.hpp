// All SAs, by destination and SPI: the only writer of the SAD that workers read. Gives each SA its
// number, its keys on devices and its sessions on NICs, and watches its lifetime.
//
// Numbers of packets are never used twice: an SA that is said again with the keys it has keeps its
// sequence number and its window; where it has to be made anew it continues behind them.
//
// Owned by the control thread; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/peers.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "router/ipsec/options.hpp"
#include "router/ipsec/sa_entry.hpp"
#include "router/ipsec/sa_history.hpp"
#include "router/ipsec/sa_numbers.hpp"
#include "router/ipsec/templates.hpp"
#include "router/ipsec/views.hpp"

namespace hecto::router {

class SaTable {
 public:
  // Both must outlive it.
  SaTable(const IpsecOptions& options, Templates& templates);
  SaTable(const SaTable&) = delete;
  SaTable& operator=(const SaTable&) = delete;

  const esp::Sad& sad() const { return sad_; }
  const esp::Peers& peers() const { return peers_; }
  size_t size() const { return entries_.size(); }
  const SaEntry* find(const SaId& id) const;  // null: there is none

  // In the SAD when it returns. True: in the place of one with its id. ENOSPC: max_sas are there.
  Result<bool> put(SaState state);
  // Out of the SAD when it returns; workers may hold it still.
  void remove(const SaId& id);
  void flush(RouteOrigin origin);

  // Between the two Linux tells all of its SAs. The second removes those that it did not: how many.
  void begin_resync() { ++generation_; }
  size_t end_resync();

  // Of SAs that are not Linux's, which keeps those itself, also of the last that went. `left`: by the
  // process before; an SA with these keys goes on behind them.
  std::vector<SaNumbers> numbers() const;
  void continue_from(std::vector<SaNumbers> left) { left_ = std::move(left); }

  // Lifetimes that ended since the last call. Hard-expired SAs carry no packet more; those of the
  // file and the API are removed.
  std::vector<Expiry> expire(uint32_t now_s);

  // What was removed, for the caller to destroy when no worker holds it: behind release().
  std::vector<std::unique_ptr<esp::Sa>> take_removed() { return std::exchange(removed_, {}); }
  // Takes back what an SA had that no worker holds any more: number, keys on devices, sessions.
  void release(const esp::Sa& sa);
  void reclaim() { sad_.reclaim(); }

  const SaTotals& totals() const { return totals_; }

  void offer_to_nics();

  std::optional<SaUsage> usage(const SaId& id, bool with_bitmap) const;
  SaView view(const SaEntry& entry) const;
  // By destination and SPI. `policies`: how many each Sa protects.
  std::vector<SaView> views(const std::unordered_map<const esp::Sa*, uint32_t>& policies) const;
  void each_key(const std::function<void(const SaState&, const esp::Keys&)>& call) const;

 private:
  struct Hash {
    size_t operator()(const SaId& id) const;
  };
  using Map = std::unordered_map<SaId, SaEntry, Hash>;

  Result<std::unique_ptr<esp::Sa>> make(const SaState& state);
  void continue_left(SaState& state, uint64_t print) const;
  void remember(const SaEntry& entry);
  void remove(Map::iterator at);
  void count(SaEntry& entry, const SaUsage& usage);
  void retire(std::unique_ptr<esp::Sa> sa);
  size_t remove_if(const std::function<bool(const SaEntry&)>& which);

  const IpsecOptions& options_;
  Templates& templates_;
  esp::Sad sad_;
  esp::Peers peers_;  // of the SAs in entries_
  Map entries_;
  SaHistory history_;
  static constexpr size_t kMostLeft = 1024;
  std::vector<SaNumbers> left_;  // of SAs that are not there, or not with these keys; oldest first
  std::vector<std::unique_ptr<esp::Sa>> removed_;
  std::vector<uint32_t> free_numbers_;
  uint32_t next_number_ = 0;
  SaTotals totals_;
  uint64_t serial_ = 0;
  uint32_t generation_ = 1;  // of Linux's state
};

}  // namespace hecto::router
