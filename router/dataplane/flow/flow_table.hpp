// The flow table of one family: tuple space search (Srinivasan, Suri and Varghese 1999). One hash a mask,
// in order of the highest priority that its entries have; a look-up ends where no later mask can beat
// what it has.
//
//   keys ─► masks, each: hash ─► line (FlowLine) ─► entry (FlowEntry) ─► its key is compared
//
// One writer, and any number of readers at the same time, without locks. Readers see what the writer has
// changed when it says commit(), single entries of a mask that is there already before. Lines, lists of
// masks and entries are used again once all readers that could have seen them have let go (Reclaimer).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lookup/memory_block.hpp"
#include "router/dataplane/flow/flow_entry.hpp"
#include "router/dataplane/flow/flow_key.hpp"
#include "router/dataplane/flow/flow_line.hpp"

namespace hecto::router {

inline constexpr unsigned kMostFlowMasks = 64;  // a family: each costs a packet a look-up
inline constexpr unsigned kFlowGroup = 64;  // packets of a look-up: lines and entries stay in L1

struct FlowMaskStatus {
  unsigned number = 0;
  uint32_t entries = 0, highest = 0;  // priority
  uint64_t bytes = 0;                 // of lines
  std::string fields;                 // "from/24 protocol dport"
};

template <typename Key>
class FlowTable {
 public:
  using Entry = FlowEntry<Key>;
  struct Options {
    uint32_t entries = 0;  // room
    int socket = 0;
    FlowSeed seed;
  };
  // Without memory room() is 0.
  FlowTable(const Options& options, lookup::Memory& memory, lookup::Reclaimer& readers);
  ~FlowTable();
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  // ---- Readers ----
  // What a look-up goes by, as it is now: to be asked again for each group of keys.
  struct MaskList;
  const MaskList& list() const noexcept { return *list_.load(std::memory_order_acquire); }
  static uint32_t needs(const MaskList& list) noexcept { return list.needs; }  // KeyNeed of keys
  // Of n keys, at most kFlowGroup: the entry of the highest priority, or 0. Between entries of the same
  // priority anyone's choice. `cells`: of this thread, by entry, to be fetched; null: none are.
  void find(const MaskList& list, const Key* keys, unsigned n, const FlowCell* cells,
            uint32_t* found) const noexcept;
  const Entry& entry(uint32_t index) const noexcept { return entries_[index]; }
  Entry& entry(uint32_t index) noexcept { return entries_[index]; }

  // ---- The writer ----
  struct Change {
    uint32_t index = 0;     // of the new entry
    uint32_t replaced = 0;  // the one of the same match that was there; 0: none was
  };
  struct Fields {
    uint32_t priority = 0, action = 0, idle_s = 0, hard_s = 0, now_s = 0;
    uint32_t needs = 0;  // KeyNeed: of the mask
  };
  // `key` is masked. Fails where there is no room, or no more masks; all is as it was then.
  Result<Change> set(const Key& key, const Key& mask, const Fields& fields);
  void undo(const Change& change);  // since the last commit(), the last one first
  uint32_t index_of(const Key& key, const Key& mask) const;  // 0: it is not there
  void erase(uint32_t index);
  void erase_all();
  void commit();
  // Now and then. Entries that nobody can see any more, for who counts there.
  void reclaim();

  uint32_t size() const { return size_; }
  uint32_t room() const { return entries_ == nullptr ? 0 : options_.entries; }
  uint32_t slots() const { return slots_; }  // indices are below
  uint32_t end() const { return next_; }     // and no entry has been beyond
  bool is_live(uint32_t index) const { return entries_[index].live; }
  const Key& mask_of(const Entry& entry) const { return masks_[entry.mask]->mask; }
  std::vector<FlowMaskStatus> masks() const;
  uint64_t bytes() const;  // of lines, and of entries that there have been

  struct MaskView {
    Key mask;
    const FlowLine* lines;
    uint32_t shift, last;  // of 64 bits; lines - 1
    uint32_t highest;      // priority
  };
  struct MaskList {
    uint32_t count = 0, needs = 0;
    MaskView masks[kMostFlowMasks];
  };

 private:
  struct Mask {
    Key mask;
    uint32_t needs = 0;
    lookup::MemoryBlock block;
    FlowLine* lines = nullptr;
    uint32_t count = 0;                       // of lines, a power of two
    uint32_t size = 0;                        // of entries
    std::map<uint32_t, uint32_t> priorities;  // entries by priority
    uint32_t shift() const { return 64 - static_cast<uint32_t>(__builtin_ctz(count)); }
  };
  struct Place {
    FlowLine* line = nullptr;  // null: it is not there
    unsigned slot = 0;
    bool second = false;
  };
  struct Batch {
    uint64_t token = 0;
    std::vector<uint32_t> entries;
    std::vector<lookup::MemoryBlock> blocks;
    std::vector<std::unique_ptr<const MaskList>> lists;
    bool empty() const { return entries.empty() && blocks.empty() && lists.empty(); }
  };

  static uint32_t line_of(uint64_t hash, uint32_t shift) noexcept {
    return static_cast<uint32_t>(hash >> shift);
  }
  static uint32_t second_of(uint64_t hash, uint32_t first, uint32_t last) noexcept {
    return (first ^ (static_cast<uint32_t>(hash >> 16) | 1)) & last;
  }
  uint32_t search(const MaskView& mask, const Key& key, uint64_t hash) const noexcept;

  Mask* mask_for(const Key& mask) const;
  Result<Mask*> make_mask(const Key& mask, uint32_t needs);
  bool resize(Mask& mask, uint32_t lines);
  static bool put(FlowLine* lines, uint32_t count, uint64_t hash, uint32_t index);
  Place place_of(const Mask& mask, const Key& key) const;
  uint32_t take_entry();
  void remove(uint32_t index);
  void count(Mask& mask, uint32_t priority, int more);
  bool has_new_highest(const Mask& mask, uint32_t priority) const;
  void publish();

  const Options options_;
  lookup::Memory& memory_;
  lookup::Reclaimer& readers_;
  std::atomic<const MaskList*> list_{nullptr};
  lookup::MemoryBlock block_;
  Entry* entries_ = nullptr;  // from 1
  uint32_t slots_ = 0, next_ = 1, size_ = 0;
  std::vector<std::unique_ptr<Mask>> masks_;  // by number; null: free
  std::vector<uint32_t> free_;
  std::vector<uint32_t> undone_;
  Batch pending_;  // since the last commit
  std::deque<Batch> retired_;
  std::unique_ptr<const MaskList> published_;
  bool changed_ = false;  // masks, their lines or highest priorities
};

extern template class FlowTable<FilterKey4>;
extern template class FlowTable<FilterKey6>;

}  // namespace hecto::router
