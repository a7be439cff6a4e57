// One direction's policies as workers read them: tuple-space search, immutable once built.
//
// A shape is what a selector looks at: both prefix lengths, protocol given or not, both port masks.
// Each shape is a hash table of masked five-tuples, and a packet is looked up once in each, best
// shape first, until no shape left has a policy that is better than the one found: the time grows
// with the shapes (a few, as a rule), not with the policies. A slot holds 32 bits of the hash
// beside the policy's number, so that a shape that has nothing costs one cache line. IPv4 keys take
// 24 bytes, IPv6 keys 48. Policies that can never be found (a better one has the same selector) are
// left out.
//
// Any number of readers. The Spd does not own its policies; they outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "router/esp/tables.hpp"

namespace hecto::router::esp {

struct SpdRule {
  IpsecSelector selector;
  uint32_t if_id = 0;  // a packet's must be the same, as in Linux
  const Policy* policy = nullptr;
};

class Spd {
 public:
  // Best first: by priority number, then the older.
  explicit Spd(std::span<const SpdRule> rules = {});

  const Policy* find(const FlowKey& key, uint32_t if_id) const noexcept;  // null: none
  // The same for many packets at once, at most kMaxBatch; `if_ids`: one for each key.
  static constexpr size_t kMaxBatch = 256;
  void find_batch(std::span<const FlowKey> keys, const uint32_t* if_ids,
                  const Policy** found) const noexcept;

  bool empty() const { return v4_.rules.empty() && v6_.rules.empty(); }
  size_t shapes(lookup::Family family) const;
  // Slots that find() reads: what a packet costs.
  size_t slots_read(const FlowKey& key, uint32_t if_id) const noexcept;

 private:
  // A masked five-tuple and the if_id: addresses first, then ports and if_id, then the protocol.
  template <size_t kWords>
  using Words = std::array<uint64_t, kWords>;
  template <size_t kWords>
  struct Shape {
    Words<kWords> mask{};
    uint32_t best = 0;       // number of its best rule
    uint32_t slot_mask = 0;  // slots - 1
    uint64_t first = 0;      // in Table::slots
  };
  template <size_t kWords>
  struct Rule {
    Words<kWords> key;
    const Policy* policy;
  };
  template <size_t kWords>
  struct Table {
    std::vector<Shape<kWords>> shapes;  // by `best`
    std::vector<uint64_t> slots;        // hash's upper half << 32 | number of the rule + 1; 0: none
    std::vector<Rule<kWords>> rules;    // best first: the number of a rule is its rank
  };
  using Table4 = Table<3>;
  using Table6 = Table<6>;

  template <size_t kWords>
  void build(std::span<const SpdRule> rules, lookup::Family family, Table<kWords>& table);
  template <size_t kWords>
  static Words<kWords> words(const FlowKey& key, uint32_t if_id) noexcept;
  template <size_t kWords>
  static Words<kWords> masks(const IpsecSelector& selector) noexcept;
  template <size_t kWords>
  uint64_t hash(const Words<kWords>& words) const noexcept;
  template <size_t kWords>
  uint32_t probe(const Table<kWords>& table, const Shape<kWords>& shape,
                 const Words<kWords>& masked, uint64_t hash, uint32_t best,
                 size_t& slots) const noexcept;
  template <size_t kWords>
  const Policy* search(const Table<kWords>& table, const Words<kWords>& key,
                       size_t& slots) const noexcept;
  template <size_t kWords>
  void search_batch(const Table<kWords>& table, lookup::Family family,
                    std::span<const FlowKey> keys, const uint32_t* if_ids,
                    const Policy** found) const noexcept;

  std::array<uint64_t, 6> seed_;
  Table4 v4_;
  Table6 v6_;
};

}  // namespace hecto::router::esp
