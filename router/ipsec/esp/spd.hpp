// One direction's policies as workers read them: tuple-space search.
//
// A shape is what a selector looks at: both prefix lengths, protocol given or not, both port masks.
// Each shape is a hash table of masked five-tuples, and a packet is looked up once in each, best
// shape first, until no shape left has a policy that is better than the one found: the time grows
// with the shapes (a few, as a rule), not with the policies. The masked five-tuple lies in the
// policy itself, beside what a worker needs of it: a hit costs a slot's cache line and one of the
// policy (IPv6: two). Of policies with the same selector the best is in the table, the others in a
// list behind it.
//
// How it changes under its readers, of whom each holds a moment's list of shapes for one batch: a
// change of one policy, when nobody is left who could have seen less than all changes before it, is
// a store into a slot. Any other goes by copies of the tables that it touches and a new list. So
// each batch meets the policies as they were before a change or as they are behind it, never a
// mixture, in which what is to be protected could go by a policy that no state had in force.
//
// One writer (control); any number of readers. The Spd does not own its policies: what was removed
// may be destroyed when all readers have passed (QSBR).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "lookup/memory.hpp"
#include "router/ipsec/esp/pointer_slots.hpp"
#include "router/ipsec/esp/spd_words.hpp"
#include "router/ipsec/esp/tables.hpp"

namespace hecto::router::esp {

class Spd {
 public:
  explicit Spd(lookup::Reclaimer& readers = lookup::Reclaimer::none());

  // Readers.
  // Any of the family; else no packet of it need be looked up.
  bool has(lookup::Family family) const noexcept {
    return family == lookup::Family::kIpv4 ? has(v4_) : has(v6_);
  }
  const Policy* find(const FlowKey& key, uint32_t if_id) const noexcept;  // null: none
  // The same for many packets of a family at once, by their words without if_id; `if_ids`: one for
  // each. What was found is on its way into the cache.
  void find_batch(std::span<const SpdWords<3>> keys, const uint32_t* if_ids,
                  const Policy** found) const noexcept;
  void find_batch(std::span<const SpdWords<6>> keys, const uint32_t* if_ids,
                  const Policy** found) const noexcept;
  // Slots that find() reads: what a packet costs.
  size_t slots_read(const FlowKey& key, uint32_t if_id) const noexcept;

  // Control. Those to be removed are here, or among those inserted; selector, if_id, priority and
  // serial of one that is here stay as they are.
  void change(std::span<Policy* const> inserted, std::span<Policy* const> removed);
  void reclaim();  // frees replaced tables that nobody reads any more
  bool empty() const { return v4_.shapes.empty() && v6_.shapes.empty(); }
  size_t shapes(lookup::Family family) const;

 private:
  using Slots = PointerSlots<Policy>;
  // Smaller is better.
  struct Rank {
    uint32_t priority;
    uint64_t serial;
    auto operator<=>(const Rank&) const = default;
    bool better(const Rank& other) const noexcept {  // <, without a branch
      return (priority < other.priority) | ((priority == other.priority) & (serial < other.serial));
    }
  };
  static Rank rank(const Policy& policy) noexcept { return {policy.priority, policy.serial}; }

  // What readers see.
  template <size_t kWords>
  struct ShapeView {
    SpdWords<kWords> mask;
    Rank best;
    const Slots* slots;
  };
  template <size_t kWords>
  using List = std::vector<ShapeView<kWords>>;  // by `best`

  // What the writer has.
  struct Shape {
    std::unique_ptr<Slots> slots = std::make_unique<Slots>(0);
    std::set<Rank> ranks;  // of all of its policies
    bool fresh = true;     // `slots` are of this change(): no reader has them yet
  };
  template <size_t kWords>
  struct Table {
    std::atomic<const List<kWords>*> published{nullptr};
    std::unique_ptr<List<kWords>> list;  // what `published` points at
    std::map<SpdWords<kWords>, Shape> shapes;
    bool dirty = false;  // the list does not say what `shapes` do
  };
  struct Retired {
    uint64_t token = 0;
    std::vector<std::unique_ptr<Slots>> slots;
    std::unique_ptr<List<3>> list4;
    std::unique_ptr<List<6>> list6;
  };

  template <size_t kWords>
  static bool has(const Table<kWords>& table) noexcept {
    return !table.published.load(std::memory_order_acquire)->empty();
  }
  template <size_t kWords>
  const Policy* search(const Table<kWords>& table, const SpdWords<kWords>& key) const noexcept;
  template <size_t kWords>
  size_t slots_read(const Table<kWords>& table, const SpdWords<kWords>& key) const noexcept;
  template <size_t kWords>
  class Group;
  template <size_t kWords>
  void search_batch(const Table<kWords>& table, std::span<const SpdWords<kWords>> keys,
                    const uint32_t* if_ids, const Policy** found) const noexcept;

  template <size_t kWords>
  void insert(Table<kWords>& table, Policy& policy);
  template <size_t kWords>
  void remove(Table<kWords>& table, Policy& policy);
  template <size_t kWords>
  std::unique_ptr<List<kWords>> publish(Table<kWords>& table);  // returns the one before
  // What a change may write to.
  template <size_t kWords>
  Slots& writable(Table<kWords>& table, Shape& shape);
  template <size_t kWords>
  void replace(Table<kWords>& table, Shape& shape, std::unique_ptr<Slots> slots);

  lookup::Reclaimer& readers_;
  std::array<uint64_t, 6> seed_;
  Table<3> v4_;
  Table<6> v6_;
  bool in_place_ = false;  // this change() is one store
  Retired leaving_;
  std::deque<Retired> retired_;  // one for each change() that readers may not have seen
};

}  // namespace hecto::router::esp
