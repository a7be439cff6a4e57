// The forwarding tables: longest prefix -> next-hop-group index, for batches of destinations.
//
// One writer, any number of readers. A FIB holds one replica per NUMA socket; each replica is an
// arena of 32-bit words addressed by offsets only, so its bytes can be copied anywhere (another
// socket, a GPU) and used there. Readers take a View once per quiescent period and never block;
// a look-up that runs while the writer changes a prefix returns the old or the new answer.
//
//   IPv4  DIR-24-8 with 2-byte entries (Gupta, Lin, McKeown, INFOCOM 1998): one load, rarely two.
//   IPv6  multi-bit trie, 24 bits direct and then 8 bits a step, 4-byte entries.
//
// add and remove keep the prefixes themselves (writer's memory, not the arena's), so a removed
// prefix uncovers what lay below it. Errors leave the table as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/memory.hpp"
#include "lookup/prefix.hpp"

namespace hecto::lookup {

using GroupId = uint16_t;
inline constexpr GroupId kNoRoute = 0;  // what a look-up gives when nothing matches
inline constexpr GroupId kMaxGroupId =
    0x7fff;  // 15 bits: one bit of a 2-byte entry says "extended"

// First bytes of every arena. Offsets are in 32-bit words from the arena's start.
struct ArenaHeader {
  uint32_t magic;         // "HF4\1" or "HF6\1"
  uint32_t words;         // size of the arena
  uint64_t generation;    // grows with every publish(); written last
  uint32_t root_offset;   // first level
  uint32_t nodes_offset;  // further levels, 256 entries a node
  uint32_t node_count;    // nodes that the sections have room for
  uint32_t checksum;      // of the header's other words
};

struct FibOptions {
  std::vector<int> sockets = {0};  // one replica each
  uint32_t max_nodes = 0;          // 0: a default that holds the full table several times over
};

struct FibStatistics {
  uint64_t prefixes = 0;
  uint64_t nodes_used = 0;
  uint64_t nodes_total = 0;
  uint64_t bytes = 0;  // arena of one replica
  uint64_t generation = 0;
};

// Trivially copyable: the arena of one socket's replica, as readers see it.
struct Fib4View {
  const uint32_t* arena = nullptr;
};
struct Fib6View {
  const uint32_t* arena = nullptr;
};

// Readers' side: thread-safe, no allocation, any n (also 0), no alignment needed.
// `destinations` are in host order for IPv4 and sixteen wire bytes each for IPv6.
void lookup_batch(Fib4View view, const uint32_t* destinations, GroupId* groups, size_t n) noexcept;
void lookup_batch(Fib6View view, const Ipv6Address* destinations, GroupId* groups,
                  size_t n) noexcept;

class Fib4 {
 public:
  static tl::expected<std::unique_ptr<Fib4>, Error> create(
      const FibOptions& options, Memory& memory = Memory::system(),
      Reclaimer& reclaimer = Reclaimer::none());
  ~Fib4();

  // Adds the prefix or replaces its group. kNoRoute is a legal group (a hole).
  tl::expected<void, Error> add(Prefix4 prefix, GroupId group);
  tl::expected<void, Error> remove(Prefix4 prefix);
  // Makes the changes since the last call one generation and returns freed nodes whose grace
  // period is over to the free list. Changes are visible to readers before it, too.
  void publish();

  Fib4View view(int socket) const;
  FibStatistics statistics() const;

 private:
  Fib4();
  struct State;
  std::unique_ptr<State> state_;
};

class Fib6 {
 public:
  static tl::expected<std::unique_ptr<Fib6>, Error> create(
      const FibOptions& options, Memory& memory = Memory::system(),
      Reclaimer& reclaimer = Reclaimer::none());
  ~Fib6();
  tl::expected<void, Error> add(Prefix6 prefix, GroupId group);
  tl::expected<void, Error> remove(Prefix6 prefix);
  void publish();
  Fib6View view(int socket) const;
  FibStatistics statistics() const;

 private:
  Fib6();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hecto::lookup
