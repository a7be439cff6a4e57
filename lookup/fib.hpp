// The forwarding tables: longest prefix -> next-hop-group index, for batches of destinations.
//
// One writer, any number of readers. A FIB holds one replica per NUMA socket; each replica is an
// arena of 32-bit words addressed by offsets only, so its bytes can be copied anywhere (another
// socket, a GPU) and used there. Readers take a View once per quiescent period and never block;
// a look-up that runs while the writer changes a prefix returns the old or the new answer.
//
//   DIR-24-8  IPv4's main table: 2-byte entries (Gupta, Lin, McKeown, INFOCOM 1998), 33 MB, one
//             load, rarely two. The fastest where the cache is large.
//   trie      IPv6, VRFs, and IPv4 where memory counts: branches of 8 bits with bitmaps, and sorted
//             ranges compared a cache line at a time (after DXR, Poptrie and B+-trees).
//
// add and remove keep the prefixes themselves (writer's memory, not the arena's), so a removed
// prefix uncovers what lay below it. Errors leave the table as it was.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "base/id.hpp"
#include "lookup/journal.hpp"
#include "lookup/memory.hpp"
#include "lookup/prefix.hpp"

namespace hecto::lookup {

using GroupId = Id<struct NextHopGroupKind, uint16_t>;
using TableId = uint16_t;
inline constexpr GroupId kNoRoute = 0;  // what a look-up gives when nothing matches
inline constexpr GroupId kMaxGroupId =
    0x7fff;  // 15 bits: one bit of a 2-byte entry says "extended"

// Which structure an IPv4 table has. Table 0 of IPv6 and all further tables are tries.
enum class Engine : uint8_t { kAuto, kDirect, kTrie };

struct FibOptions {
  std::vector<int> sockets = {0};  // one replica each
  TableId tables = 1;              // table 0 is the main one, the others are VRFs
  Engine engine = Engine::kAuto;   // of IPv4's table 0
  uint64_t max_prefixes = 0;       // in all tables; 0: 4,194,304 IPv4, 1,048,576 IPv6
  size_t max_bytes = 0;  // of one arena; 0: what its offsets reach; removals may need more
};

struct FibStatistics {
  uint64_t prefixes = 0;
  uint64_t used_bytes = 0;  // of `bytes`
  uint64_t bytes = 0;       // arenas of one socket
  uint64_t generation = 0;
  const char* engine = "";  // of table 0
};

// Trivially copyable: one table in the replica of one socket. Holds as long as the FIB, also when
// the arena grows.
template <typename Address>
struct FibView {
  const std::atomic<const uint32_t*>* arena = nullptr;
  TableId table = 0;  // in the arena
};
using Fib4View = FibView<Ipv4Address>;
using Fib6View = FibView<Ipv6Address>;

// Readers' side: thread-safe, no allocation, any n (also 0), no alignment needed.
// `destinations` are in host order for IPv4 and sixteen wire bytes each for IPv6.
void lookup_batch(Fib4View view, const uint32_t* destinations, GroupId* groups, size_t n) noexcept;
void lookup_batch(Fib6View view, const Ipv6Address* destinations, GroupId* groups,
                  size_t n) noexcept;

template <typename Address>
struct Route {
  Prefix<Address> prefix;
  GroupId group;
};

template <typename Address>
class Fib {
 public:
  static tl::expected<std::unique_ptr<Fib>, Error> create(const FibOptions& options = {},
                                                          Memory& memory = Memory::system(),
                                                          Reclaimer& reclaimer = Reclaimer::none());
  ~Fib();

  // Adds the prefix or replaces its group. kNoRoute is a legal group (a hole).
  tl::expected<void, Error> add(Prefix<Address> prefix, GroupId group, TableId table = 0);
  // Adds a prefix that is not there yet.
  tl::expected<void, Error> insert(Prefix<Address> prefix, GroupId group, TableId table = 0);
  // Adds or replaces all of them or, on an error, none. Quicker than one by one for a whole table.
  tl::expected<void, Error> load(std::span<const Route<Address>> routes, TableId table = 0);
  tl::expected<void, Error> remove(Prefix<Address> prefix, TableId table = 0);
  // Makes the changes since the last call one generation and takes back the memory whose grace
  // period is over. Changes are visible to readers before it, too.
  void publish();

  FibView<Address> view(int socket, TableId table = 0) const;
  FibStatistics statistics() const;

  // For copies elsewhere. IPv4's table 0 has an arena of its own where it is a DIR-24-8; all other
  // tables of a family share one. The journal learns of every publish() of the arena that `table`
  // lies in, beginning with an image now; nullptr ends that.
  void attach(Journal* journal, TableId table = 0);
  // The arena's bytes as they are now.
  std::shared_ptr<const TableUpdate> image(TableId table = 0) const;

 private:
  Fib();
  struct State;
  std::unique_ptr<State> state_;
};
using Fib4 = Fib<Ipv4Address>;
using Fib6 = Fib<Ipv6Address>;

}  // namespace hecto::lookup
