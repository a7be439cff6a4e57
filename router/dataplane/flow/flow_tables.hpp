// The flow tables of both families, what their entries do, and who counts there. docs/flows.md.
//
//   control ─► set(), erase(), expire() ─► FlowTable of IPv4, of IPv6 ◄─ find() ─ workers
//                                          FlowActions                 ◄─ read ──
//   control ◄─ count() ──────────────────── FlowThread: cells by entry ◄─ add ─── each its own
//
// One writer, which is control; readers without locks. It outlives the snapshots that name it.
#pragma once

#include <bitset>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/filter/mark.hpp"
#include "router/dataplane/flow/flow_actions.hpp"
#include "router/dataplane/flow/flow_table.hpp"

namespace hecto::router {

// An entry in the words of keys, as compile_flow() makes it.
struct FlowOrder {
  lookup::Family family = lookup::Family::kIpv4;
  FilterKey4 key4{}, mask4{};
  FilterKey6 key6{}, mask6{};
  uint32_t needs = 0;  // KeyNeed
  uint32_t priority = 0, idle_s = 0, hard_s = 0;
  FlowAction action;
};

// Numbers of a thread's own.
struct alignas(64) FlowThread {
  Counter hits, misses;  // packets
  FlowCell* cells4 = nullptr;
  FlowCell* cells6 = nullptr;
  FlowCell* cells(const FilterKey4*) const noexcept { return cells4; }
  FlowCell* cells(const FilterKey6*) const noexcept { return cells6; }
};

// Which entry: a family's, by index.
struct FlowId {
  lookup::Family family = lookup::Family::kIpv4;
  uint32_t index = 0;
  auto operator<=>(const FlowId&) const = default;
};

class FlowTables {
 public:
  struct Options {
    uint32_t entries = 0;  // room, of both families
    unsigned threads = 1;  // that look up
    int socket = 0;
    FlowSeed seed;
  };
  // Fails where there is no memory.
  static Result<std::shared_ptr<FlowTables>> create(const Options& options, lookup::Memory& memory,
                                                    lookup::Reclaimer& readers);
  FlowTables(const FlowTables&) = delete;
  FlowTables& operator=(const FlowTables&) = delete;

  // ---- Workers ----
  FlowTable<FilterKey4>& of(const FilterKey4*) noexcept { return ipv4_; }
  FlowTable<FilterKey6>& of(const FilterKey6*) noexcept { return ipv6_; }
  const FlowActions& actions() const noexcept { return actions_; }
  FlowThread& thread(unsigned number) noexcept { return *threads_[number]; }
  uint32_t now_s() const noexcept { return now_s_.load(std::memory_order_relaxed); }

  // ---- Control ----
  // Called with each entry that goes, before it does: deleted, over, or another in its place.
  void watch(std::function<void(const FlowId& id)> gone) { gone_ = std::move(gone); }
  void set_now(uint32_t now_s) { now_s_.store(now_s, std::memory_order_relaxed); }
  // All of them, or none. An entry of the same match goes, with its counters. `which`: of an error.
  Result<void> set(std::span<const FlowOrder> orders, size_t* which = nullptr);
  // Whether it was there. `priority`: only an entry of that one.
  std::optional<FlowId> find(const FlowOrder& match) const;
  void erase(const FlowId& id);  // of one that is there; commit() is the caller's
  size_t erase_all();
  void commit();
  // Entries whose time is over, till `may_go_on` says no (asked now and then); where it ended is where it
  // goes on next time. Returns how many went.
  size_t expire(const std::function<bool()>& may_go_on);
  void reclaim();

  struct Status {
    FlowId id;
    uint32_t priority = 0, idle_s = 0, hard_s = 0;
    uint32_t age_s = 0, unused_s = 0;
    FlowCount count;
    FlowOrder order;  // key and mask of its family, action
  };
  Status status(const FlowId& id) const;  // of one that is there
  // The first of those that are there from `from` on; none: no more.
  std::optional<FlowId> next(FlowId from) const;
  std::vector<FlowId> busiest(size_t most) const;  // by packets; looks at all
  FlowCount count(const FlowId& id) const;
  uint64_t hits() const, misses() const;
  uint64_t expired() const { return expired_; }
  uint32_t size(lookup::Family family) const;
  uint32_t size() const { return ipv4_.size() + ipv6_.size(); }
  uint32_t room() const { return options_.entries; }
  std::vector<FlowMaskStatus> masks(lookup::Family family) const;
  uint32_t actions_in_use() const { return actions_.in_use(); }
  uint64_t bytes() const;  // of memory that has been written, about

 private:
  FlowTables(const Options& options, lookup::Memory& memory, lookup::Reclaimer& readers);
  bool has_memory() const;
  FlowCount raw(const FlowId& id) const;
  template <typename Key>
  Result<void> set_one(FlowTable<Key>& table, const Key& key, const Key& mask,
                       const FlowOrder& order);
  void undo_last();
  void forget(const FlowId& id);
  FlowCount& base(const FlowId& id) const;
  uint32_t action_of(const FlowId& id) const;
  bool is_over(const FlowId& id) const;

  struct Done {
    FlowId id;
    uint32_t replaced;
  };

  const Options options_;
  FlowTable<FilterKey4> ipv4_;
  FlowTable<FilterKey6> ipv6_;
  FlowActions actions_;
  std::vector<std::unique_ptr<FlowThread>> threads_;
  std::vector<lookup::MemoryBlock> cells_;
  lookup::MemoryBlock bases4_, bases6_;  // what counted there before the entry
  std::atomic<uint32_t> now_s_{1};
  std::vector<Done> done_;  // of a set() that goes on
  FlowId cursor_{lookup::Family::kIpv4, 1};
  uint64_t expired_ = 0;
  std::function<void(const FlowId& id)> gone_;
};

// An interface as entries send by it.
struct FlowOutput {
  uint8_t header[24] = {};  // from its own address on; the destination's is the action's
  uint8_t header_length = 14;
  bool present = false;
  PortId port = kNoPort;
  InterfaceId interface = kNoInterface;
  uint16_t mtu = 0;
};

// What a snapshot says of it.
struct FlowView {
  std::shared_ptr<FlowTables> tables;
  FilterMark mark;
  std::bitset<kMaxInterfaces> on;                  // whose packets are looked up
  std::array<FlowPlace, kMaxInterfaces> places{};  // by interface; 0: no entry names it
  std::vector<FlowOutput> outputs;                 // by place
  FlowAction miss;
};

}  // namespace hecto::router
