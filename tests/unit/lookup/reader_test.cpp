// A reader that runs while the writer changes things: every answer must be one that was right at
// some moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "lookup/nexthop.hpp"
#include "qsbr.hpp"
#include "random_table.hpp"
#include "test_table.hpp"

namespace hecto::lookup {
namespace {

constexpr auto kDuration = std::chrono::milliseconds(700);

template <typename Kind>
class ReaderTest : public ::testing::Test {};
TYPED_TEST_SUITE(ReaderTest, TableKinds);

// Each prefix has a group of its own, so that an answer names the prefix that gave it: it must
// cover the destination. A node that was reused too early gives one that does not. Few nodes, so
// that they are reused all the time.
TYPED_TEST(ReaderTest, SeesOnlyPrefixesThatCoverTheDestination) {
  using Address = typename TypeParam::Address;
  using PrefixType = Prefix<Address>;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  Qsbr qsbr;
  TestTable<TypeParam> table({}, Memory::system(), qsbr);
  std::vector<PrefixType> prefixes;  // by group - 1
  std::vector<Address> destinations;
  while (prefixes.size() < 300) {
    auto prefix = random.prefix();
    if (prefix.length < 20 || prefix.length > 56) continue;
    prefixes.push_back(prefix);
    destinations.push_back(put_inside(prefix, random_address(random.rng(), Address{})));
  }

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> batches{0}, wrong{0}, hits{0};
  std::thread reader([&] {
    std::vector<GroupId> groups(destinations.size());
    while (!stop.load()) {
      lookup_in(table.view(), destinations.data(), groups.data(), groups.size());
      for (size_t i = 0; i < groups.size(); ++i) {
        if (groups[i] == kNoRoute) continue;
        ++hits;
        bool good =
            groups[i] <= prefixes.size() && prefixes[groups[i] - 1u].contains(destinations[i]);
        if (!good) ++wrong;
      }
      ++batches;
      qsbr.quiescent();
    }
  });
  uint64_t changes = 0, refused = 0;
  auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end || batches.load() < 3) {
    for (int i = 0; i < 64; ++i, ++changes) {
      size_t which = random.rng()() % prefixes.size();
      if (random.rng()() % 2) {
        if (!table.add(prefixes[which], static_cast<GroupId>(which + 1))) ++refused;
      } else {
        (void)table.remove(prefixes[which]);
      }
    }
    table.publish();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(hits.load(), 0u);
  EXPECT_LT(refused, changes);
}

// The bytes of a record all say the same number, so a mixture of two shows. Buckets name only
// groups that are members before or after.
TEST(NextHopReader, SeesWholeRecordsAndOnlyMembers) {
  Qsbr qsbr;
  auto table = NextHopTable::create({.sockets = {0}, .max_groups = 16, .max_buckets = 1024},
                                    Memory::system(), qsbr)
                   .value();
  auto record_of = [](uint8_t number) {
    NextHopRecord record{};
    record.kind = RecordKind::kForward;
    std::memset(record.header, number, sizeof(record.header));
    record.port = number;
    record.pad[19] = number;
    return record;
  };
  std::vector<GroupId> members(4);
  for (auto& member : members) {
    member = table->allocate().value();
    ASSERT_TRUE(table->set(member, record_of(1)));
  }
  GroupId head = table->allocate().value();
  std::vector<WeightedMember> two{{members[0]}, {members[1]}};
  ASSERT_TRUE(table->set_members(head, two));

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0}, wrong{0};
  std::thread reader([&] {
    NextHopView view = table->view(0);
    for (uint32_t hash = 0; !stop.load(); ++hash) {
      const NextHopRecord& record = view.record(head);
      if (record.kind == RecordKind::kMultipath) {
        GroupId group = __atomic_load_n(
            &view.buckets[record.bucket_offset + (hash & record.bucket_mask)], __ATOMIC_ACQUIRE);
        if (std::find(members.begin(), members.end(), group) == members.end()) ++wrong;
      }
      const NextHopRecord& forward = view.record(members[hash % 4]);
      const volatile uint8_t* header = forward.header;
      uint8_t number = header[0];
      bool whole = forward.port == number && forward.pad[19] == number;
      // Held for a while, as a burst holds it.
      for (size_t i = 0; i < 20 * sizeof(forward.header); ++i) {
        whole = whole && header[i % sizeof(forward.header)] == number;
      }
      if (!whole) ++wrong;
      ++rounds;
      qsbr.quiescent();
    }
  });
  Rng rng(5);
  auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end || rounds.load() < 3) {
    (void)table->set(members[rng() % 4], record_of(static_cast<uint8_t>(rng())));
    std::vector<WeightedMember> some;
    for (GroupId member : members) {
      if (rng() % 2) some.push_back({member, static_cast<uint16_t>(1 + rng() % 30)});
    }
    if (some.empty()) {
      (void)table->set(head, record_of(9));
    } else {
      (void)table->set_members(head, some);
    }
    table->reclaim();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace hecto::lookup
