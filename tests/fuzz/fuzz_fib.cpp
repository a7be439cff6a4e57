// Sequences of changes to two tables, held against naive twins.
//
// Input: one byte chooses the kind of table, then records of two operation bytes and an address.
// First byte: insert, add or remove, the table and the lowest bit of the group; second: the length.
// The arena is small, so that it refuses now and then, and emptied after every input.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "lookup/direct_layout.hpp"
#include "lookup/fib.hpp"
#include "tests/beds/naive.hpp"

namespace {

using namespace hecto::lookup;

constexpr TableId kTables = 2;
constexpr uint64_t kMaxPrefixes = 60;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Ipv4Address address_of(const uint8_t* bytes, Ipv4Address) {
  return {uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3]};
}
Ipv6Address address_of(const uint8_t* bytes, Ipv6Address) {
  Ipv6Address address;
  std::memcpy(address.bytes.data(), bytes, 16);
  return address;
}

GroupId lookup_one(const Fib4& fib, TableId table, const Ipv4Address& address) {
  GroupId group;
  lookup_batch(fib.view(0, table), &address.value, &group, 1);
  return group;
}
GroupId lookup_one(const Fib6& fib, TableId table, const Ipv6Address& address) {
  GroupId group;
  lookup_batch(fib.view(0, table), &address, &group, 1);
  return group;
}

template <typename Address>
std::unique_ptr<Fib<Address>> make(Engine engine, size_t max_bytes) {
  FibOptions options;
  options.tables = kTables;
  options.engine = engine;
  options.max_prefixes = kMaxPrefixes;
  options.max_bytes = max_bytes;
  if (max_bytes == 0) options.max_bytes = make<Address>(engine, SIZE_MAX)->statistics().bytes;
  return Fib<Address>::create(options).value();
}

template <typename Address>
struct Twin {
  NaiveFib<Address> naive;
  std::set<Prefix<Address>> present;
};

template <typename Address>
void run(Fib<Address>& fib, unsigned shortest, const uint8_t* data, size_t size) {
  unsigned lengths = Prefix<Address>::kMaxLength - shortest + 1;
  fib.publish();
  uint64_t empty = fib.statistics().used_bytes;
  Twin<Address> twins[kTables];
  size_t prefixes = 0;
  GroupId group = 0;
  for (; size >= 2 + sizeof(Address); data += 2 + sizeof(Address), size -= 2 + sizeof(Address)) {
    Address address = address_of(data + 2, Address{});
    auto prefix =
        Prefix<Address>::make(address, static_cast<uint8_t>(shortest + data[1] % lengths));
    TableId table = data[0] >> 2 & 1;
    Twin<Address>& twin = twins[table];
    bool known = twin.present.count(prefix) != 0;
    // New groups, or few, so that neighbors have the same.
    group = data[0] & 8 ? static_cast<GroupId>(data[0] >> 4) : static_cast<GroupId>(group + 16);
    if ((data[0] & 3) == 3) {
      auto removed = fib.remove(prefix, table);
      require(removed || removed.error() == Error::kNotFound, "remove failed");
      require(removed.has_value() == known, "remove disagrees");
      twin.naive.remove(prefix);
      prefixes -= twin.present.erase(prefix);
    } else {
      bool insert = (data[0] & 3) == 2;
      auto added = insert ? fib.insert(prefix, group, table) : fib.add(prefix, group, table);
      if (added) {
        require(!insert || !known, "inserted twice");
        twin.naive.add(prefix, group);
        prefixes += twin.present.insert(prefix).second;
      } else if (added.error() == Error::kDuplicate) {
        require(insert && known, "duplicate of nothing");
      } else if (added.error() == Error::kTableFull) {
        require(!known && prefixes == kMaxPrefixes, "full too early");
      } else {
        require(added.error() == Error::kArenaFull, "add failed");
      }
    }
    fib.publish();
    require(fib.statistics().prefixes == prefixes, "miscounted");
    for (TableId t = 0; t < kTables; ++t) {
      auto agrees = [&](const Address& at) {
        return lookup_one(fib, t, at) == twins[t].naive.lookup(at);
      };
      require(agrees(address), "look-up disagrees");
      for (const auto& each : twins[t].present) require(agrees(each.address), "look-up disagrees");
    }
  }
  for (TableId table = 0; table < kTables; ++table) {
    for (const auto& prefix : twins[table].present) {
      require(fib.remove(prefix, table).has_value(), "remove failed");
    }
  }
  fib.publish();
  require(fib.statistics().used_bytes == empty, "bytes leaked");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kFewNodes = (DIRECT_NODES_WORD + size_t{8} * DIRECT_NODE_WORDS) * 4;
  static const auto direct = make<Ipv4Address>(Engine::kDirect, kFewNodes);
  static const auto trie = make<Ipv4Address>(Engine::kTrie, 0);
  static const auto trie6 = make<Ipv6Address>(Engine::kAuto, 0);
  if (size == 0 || size > 2048) return 0;
  switch (data[0] % 3) {
    case 0:  // short prefixes touch much memory, which is slow and reaches no other code
      run(*direct, 14, data + 1, size - 1);
      break;
    case 1:
      run(*trie, 0, data + 1, size - 1);
      break;
    default:
      run(*trie6, 0, data + 1, size - 1);
  }
  return 0;
}
