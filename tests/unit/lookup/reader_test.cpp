// A reader that runs while the writer changes things: every answer must be one that was right at
// some moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "lookup/nexthop.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

constexpr auto kDuration = std::chrono::milliseconds(700);

// What the writer did, for readers to go through again. A change is written down before it
// begins, so that of two counts one is never too small and the other never too large.
class Journal {
 public:
  static constexpr GroupId kAbsent = 0xffff;
  static constexpr size_t kChanges = 1 << 20;
  struct Change {
    uint16_t prefix;
    GroupId group;  // or kAbsent
  };

  // Writer.
  bool is_full() const { return next_ == kChanges; }
  void begin(Change change) {
    changes_[next_++] = change;
    begun_.store(next_);
  }
  void end() { done_.store(next_); }

  // Reader: before a look-up, and after it. The second is a write so that no load moves below it.
  size_t done() const { return done_.load(); }
  size_t begun() { return begun_.fetch_add(0); }
  Change operator[](size_t i) const { return changes_[i]; }

 private:
  std::vector<Change> changes_ = std::vector<Change>(kChanges);
  size_t next_ = 0;
  std::atomic<size_t> begun_{0};
  std::atomic<size_t> done_{0};
};

// Which prefixes cover which destinations, and so what each change may change.
template <typename Address>
struct Coverage {
  Coverage(const std::vector<Prefix<Address>>& prefixes, const std::vector<Address>& destinations)
      : covering(destinations.size()), covered(prefixes.size()) {
    std::vector<uint16_t> longest_first(prefixes.size());
    std::iota(longest_first.begin(), longest_first.end(), uint16_t{0});
    std::stable_sort(longest_first.begin(), longest_first.end(), [&](uint16_t a, uint16_t b) {
      return prefixes[a].length > prefixes[b].length;
    });
    for (uint16_t d = 0; d < destinations.size(); ++d) {
      for (uint16_t p : longest_first) {
        if (!prefixes[p].contains(destinations[d])) continue;
        covering[d].push_back(p);
        covered[p].push_back(d);
      }
    }
  }
  // With `groups` the group of each prefix, or Journal::kAbsent.
  GroupId answer(const std::vector<GroupId>& groups, size_t destination) const {
    for (uint16_t p : covering[destination]) {
      if (groups[p] != Journal::kAbsent) return groups[p];
    }
    return kNoRoute;
  }

  std::vector<std::vector<uint16_t>> covering;  // by destination, longest first
  std::vector<std::vector<uint16_t>> covered;   // by prefix
};

struct Readings {
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> hits{0};
};

// Looks up, then goes through the changes of the meantime: each answer must have been right
// before, between or after them.
template <typename Kind>
class Reader {
  using Address = typename Kind::Address;

 public:
  Reader(const TestTable<Kind>& table, Journal& journal, const std::vector<Address>& destinations,
         const Coverage<Address>& coverage)
      : table_(table),
        journal_(journal),
        destinations_(destinations),
        coverage_(coverage),
        groups_(coverage.covered.size(), Journal::kAbsent) {}

  void read(Rng& rng, Readings& readings) {
    size_t first = rng() % destinations_.size();
    size_t count = 1 + rng() % (destinations_.size() - first);
    std::vector<GroupId> answers(count);
    size_t done = journal_.done();
    lookup_in(table_.view(), &destinations_[first], answers.data(), count);
    size_t begun = journal_.begun();

    for (; known_ < done; ++known_) groups_[journal_[known_].prefix] = journal_[known_].group;
    std::vector<bool> right(count);
    for (size_t i = 0; i < count; ++i) {
      right[i] = answers[i] == coverage_.answer(groups_, first + i);
      readings.hits += answers[i] != kNoRoute;
    }
    std::vector<GroupId> now = groups_;
    for (size_t change = done; change < begun; ++change) {
      now[journal_[change].prefix] = journal_[change].group;
      for (size_t d : coverage_.covered[journal_[change].prefix]) {
        if (d < first || d >= first + count || right[d - first]) continue;
        right[d - first] = answers[d - first] == coverage_.answer(now, d);
      }
    }
    readings.wrong += static_cast<uint64_t>(std::count(right.begin(), right.end(), false));
    ++readings.batches;
  }

 private:
  const TestTable<Kind>& table_;
  Journal& journal_;
  const std::vector<Address>& destinations_;
  const Coverage<Address>& coverage_;
  std::vector<GroupId> groups_;  // after `known_` changes
  size_t known_ = 0;
};

template <typename Kind>
class ReaderTest : public ::testing::Test {
 protected:
  using Address = typename Kind::Address;
  static constexpr size_t kReaders = 2;
  static constexpr size_t kPrefixes = 4000;
  static constexpr size_t kDestinations = 1000;

  void choose_prefixes() {
    std::set<Prefix<Address>> different;
    while (different.size() < kPrefixes) {
      auto prefix = random_.prefix();
      if (prefix.length >= 10) different.insert(prefix);
    }
    prefixes_.assign(different.begin(), different.end());
    std::shuffle(prefixes_.begin(), prefixes_.end(), random_.rng());
    while (destinations_.size() < kDestinations) destinations_.push_back(random_.destination());
  }

  void change(TestTable<Kind>& table, Journal& journal, size_t which, bool add) {
    bool present = present_[which];
    if (!add && !present) return;
    if (++group_ > kMaxGroupId) group_ = 1;
    journal.begin({static_cast<uint16_t>(which), add ? group_ : Journal::kAbsent});
    auto changed = add ? table.add(prefixes_[which], group_) : table.remove(prefixes_[which]);
    journal.end();
    ASSERT_TRUE(changed) << to_string(changed.error());
    present_[which] = add;
  }
  // All in, which makes the arena grow; then at random; then all out.
  void write(TestTable<Kind>& table, Journal& journal, const Readings& readings) {
    auto step = [&](size_t which, bool add) {
      if (journal.is_full()) return;
      change(table, journal, which, add);
      if (random_.rng()() % 64 == 0) table.publish();
    };
    present_.assign(kPrefixes, false);
    for (size_t i = 0; i < kPrefixes; ++i) step(i, true);
    auto end = std::chrono::steady_clock::now() + kDuration;
    while (std::chrono::steady_clock::now() < end || readings.batches < 3) {
      for (int i = 0; i < 64; ++i) step(random_.rng()() % kPrefixes, random_.rng()() % 2 == 0);
      if (journal.is_full()) std::this_thread::yield();
    }
    for (size_t i = 0; i < kPrefixes; ++i) step(i, false);
    table.publish();
  }

  uint64_t seed_ = test_seed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, testing::Message() << "seed " << seed_};
  RandomTable<Address> random_{seed_};
  std::vector<Prefix<Address>> prefixes_;
  std::vector<Address> destinations_;
  std::vector<bool> present_;
  GroupId group_ = 0;
};
TYPED_TEST_SUITE(ReaderTest, TableKinds);

TYPED_TEST(ReaderTest, EveryAnswerWasRightAtSomeMomentOfItsLookUp) {
  this->choose_prefixes();
  Coverage<typename TypeParam::Address> coverage(this->prefixes_, this->destinations_);
  Qsbr qsbr(TestFixture::kReaders);
  TestTable<TypeParam> table({}, Memory::system(), qsbr);
  uint64_t bytes = table.statistics().bytes;
  Journal journal;
  Readings readings;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < TestFixture::kReaders; ++i) {
    threads.emplace_back([&, i] {
      Rng rng(i);
      Reader<TypeParam> reader(table, journal, this->destinations_, coverage);
      while (!stop.load()) {
        reader.read(rng, readings);
        qsbr.quiescent(i);
      }
    });
  }
  this->write(table, journal, readings);
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(readings.wrong.load(), 0u) << "of " << readings.batches << " batches";
  EXPECT_GT(readings.hits.load(), 0u);
  EXPECT_GT(table.statistics().bytes, bytes) << "never grew";
}

// fe80::/10 comes and goes, and with it the main table's slot is a leaf or a block. Read as if it
// were below the root, the block would find fe80 in the fourth and fifth byte of these addresses.
TEST(RootReader, WhatLiesBesideTheRootIsNeverReadAtItsLevel) {
  Qsbr qsbr;
  auto fib = Fib6::create({}, Memory::system(), qsbr).value();
  ASSERT_TRUE(fib->add(*Prefix6::parse("::/0"), 1));
  const Prefix6 link_local = *Prefix6::parse("fe80::/10");
  const std::vector<Ipv6Address> destinations(4096, *Ipv6Address::parse("4000:fe:8000::1"));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> batches{0}, wrong{0};
  std::thread reader([&] {
    std::vector<GroupId> groups(destinations.size());
    while (!stop.load()) {
      lookup_batch(fib->view(0), destinations.data(), groups.data(), groups.size());
      wrong += static_cast<uint64_t>(
          std::count_if(groups.begin(), groups.end(), [](GroupId group) { return group != 1; }));
      ++batches;
      qsbr.quiescent();
    }
  });
  auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end || batches.load() < 3) {
    ASSERT_TRUE(fib->add(link_local, 2));
    ASSERT_TRUE(fib->remove(link_local));
    fib->publish();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
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
    record.pad[1] = number;
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
        GroupId group;
        __atomic_load(&view.buckets[record.bucket_offset + (hash & record.bucket_mask)], &group,
                      __ATOMIC_ACQUIRE);
        if (std::find(members.begin(), members.end(), group) == members.end()) ++wrong;
      }
      const NextHopRecord& forward = view.record(members[hash % 4]);
      const volatile uint8_t* header = forward.header;
      uint8_t number = header[0];
      bool whole = forward.port == number && forward.pad[1] == number;
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
