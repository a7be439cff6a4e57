#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "gpu_offload/devices/scripted.hpp"
#include "gpu_offload/kernels.hpp"
#include "gpu_offload/table_feed.hpp"
#include "lookup/arena_header.hpp"
#include "tests/beds/naive.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::gpu_offload {
namespace {

using namespace lookup;

// A table and its copies on a device whose updates take as long as the test says.
template <typename Kind>
struct Mirrored {
  Mirrored()
      : device(now_ns, [](const Job&) { return Script{}; }),
        mirror(device, [this] { return table.fib().image(Kind::kTable); }) {
    feed.add(mirror);
    table.fib().attach(&feed.journal(), Kind::kTable);
    mirror.start();
  }
  uint64_t generation_here() const { return header(table.arena()).generation; }
  static const ArenaHeader& header(const uint32_t* arena) {
    return *reinterpret_cast<const ArenaHeader*>(arena);
  }

  uint64_t now_ns = 0;
  TestTable<Kind> table;
  ScriptedDevice device;
  TableMirror mirror;
  TableFeed feed;
};

template <typename Kind>
std::vector<GroupId> shade(const DeviceTable::Copy& copy,
                           const std::vector<typename Kind::Address>& destinations) {
  std::vector<GroupId> groups(destinations.size(), 0xdead);
  Job job{};
  job.kind = Kind::kIsIpv4 ? JobKind::kLookup4 : JobKind::kLookup6;
  job.table = Kind::kTable;
  job.count = static_cast<uint32_t>(destinations.size());
  job.arena = copy.arena;
  job.arena_info = copy.magic;
  job.input = destinations.data();
  job.output = groups.data();
  run_on_cpu(job);
  return groups;
}

template <typename Kind>
class MirrorTest : public ::testing::Test {};
TYPED_TEST_SUITE(MirrorTest, TableKinds);

// Jobs take a copy, stay in flight for a while, and must find their generation's answers at the
// end: a million changes, in five kinds of table.
TYPED_TEST(MirrorTest, JobsInFlightSeeOneGenerationEach) {
  using Address = typename TypeParam::Address;
  struct Moment {
    std::vector<Address> destinations;
    std::vector<GroupId> answers;
  };
  struct Flight {
    DeviceTable::Copy copy;
    Moment moment;
  };
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  auto& rng = random.rng();
  Mirrored<TypeParam> test;
  NaiveFib<Address> naive;
  std::vector<Prefix<Address>> present;
  std::map<uint64_t, Moment> history;
  std::vector<Flight> flights;
  uint64_t seen = 0;
  auto note = [&] {
    Moment& moment = history[test.generation_here()];
    for (int i = 0; i < 3; ++i) moment.destinations.push_back(random.destination());
    moment.answers.clear();
    for (const Address& to : moment.destinations) moment.answers.push_back(naive.lookup(to));
  };
  note();
  for (int change = 0; change < (TypeParam::kIsIpv4 ? 300000 : 50000);) {
    for (uint64_t n = 1 + rng() % 64; n > 0; --n, ++change) {
      auto group = static_cast<GroupId>(rng() % (kMaxGroupId + 1));
      if (present.size() < 30) {
        auto prefix = random.prefix();
        if (prefix.length < 20) prefix = Prefix<Address>::make(prefix.address, 20);
        present.push_back(prefix);
      }
      size_t i = rng() % present.size();
      if (rng() % 3 != 0) {
        ASSERT_TRUE(test.table.add(present[i], group));
        naive.add(present[i], group);
      } else if (naive.remove(present[i])) {
        ASSERT_TRUE(test.table.remove(present[i]));
        std::swap(present[i], present.back());
        present.pop_back();
      }
    }
    test.table.publish();
    note();
    test.device.update_ns = rng() % 3;
    test.now_ns += rng() % 3;
    ASSERT_EQ(test.mirror.advance(), Status::kOk);
    if (auto copy = test.mirror.table().acquire(); copy.arena != nullptr) {
      uint64_t generation = test.header(copy.arena).generation;
      ASSERT_GE(generation, seen);
      seen = generation;
      history.erase(history.begin(), history.find(generation));
      flights.push_back({copy, history.at(generation)});
    }
    while (flights.size() > rng() % 6) {
      size_t i = rng() % flights.size();
      ASSERT_EQ(shade<TypeParam>(flights[i].copy, flights[i].moment.destinations),
                flights[i].moment.answers);
      test.mirror.table().release_arena(flights[i].copy);
      test.mirror.table().release_answers(flights[i].copy);
      std::swap(flights[i], flights.back());
      flights.pop_back();
    }
  }
  EXPECT_GT(seen + 200, test.generation_here()) << "the copies have fallen behind";
  for (const Flight& flight : flights) test.mirror.table().release_arena(flight.copy);
  test.device.update_ns = 0;
  test.now_ns += 2;
  ASSERT_EQ(test.mirror.advance(), Status::kOk);
  EXPECT_EQ(test.mirror.generation(), test.generation_here());
  auto copy = test.mirror.table().acquire();
  EXPECT_EQ(0, std::memcmp(copy.arena, test.table.arena(), copy.words * 4)) << "the same bytes";
}

TEST(TableMirror, JobsKeepTheirCopyAndUpdatesDoNotWaitForThem) {
  Mirrored<TrieTable4> test;
  test.mirror.advance();
  auto old = test.mirror.table().acquire();
  for (int i = 0; i < 3; ++i) {
    (void)test.table.add(TrieTable4::numbered(24, static_cast<uint32_t>(i)), 7);
    test.table.publish();
    test.mirror.advance();
  }
  EXPECT_EQ(test.header(old.arena).generation + 1, test.mirror.generation())
      << "one step, then the old copy is needed";
  test.mirror.table().release_arena(old);
  test.mirror.advance();
  EXPECT_EQ(test.mirror.generation(), test.generation_here());
  EXPECT_EQ(test.mirror.waiting(), 0u);
}

TEST(TableMirror, TakesTheImageOfAnArenaThatGrew) {
  Mirrored<TrieTable4> test;
  test.mirror.advance();
  auto words = test.mirror.table().acquire().words;
  for (uint32_t i = 0; i < 20000; ++i) (void)test.table.add(TrieTable4::numbered(24, 3 * i), 9);
  test.table.publish();
  test.mirror.advance();
  EXPECT_GT(test.mirror.table().acquire().words, words);
  EXPECT_EQ(test.mirror.generation(), test.generation_here());
}

TEST(TableMirror, OneImageReplacesWhatADeviceIsTooSlowFor) {
  Mirrored<TrieTable4> test;
  test.mirror.advance();
  test.device.update_ns = 1;
  for (uint32_t i = 0; i < 20000; ++i) {
    (void)test.table.add(TrieTable4::numbered(24, i % 8), static_cast<GroupId>(i));
    test.table.publish();
    test.mirror.advance();
  }
  EXPECT_LT(test.mirror.waiting(), 2000u);
  test.now_ns = 10;
  test.device.update_ns = 0;
  test.mirror.advance();
  EXPECT_EQ(test.mirror.generation(), test.generation_here());
}

// Faster than the device takes them, and without end: jobs go on to newer generations all the same.
TEST(TableMirror, GoesOnUnderChangesThatNeverEnd) {
  Mirrored<TrieTable4> test;
  test.mirror.advance();
  test.device.update_ns = 1;
  for (uint32_t i = 0; i < 20000; ++i) {
    for (uint32_t j = 0; j < 20; ++j)
      (void)test.table.add(TrieTable4::numbered(24, j), static_cast<GroupId>(1 + (i + j) % 9));
    test.table.publish();
    if (i % 1000 == 999) ++test.now_ns;
    ASSERT_EQ(test.mirror.advance(), Status::kOk);
  }
  EXPECT_GT(test.mirror.generation() + 3000, test.generation_here());
}

// What waits goes as one, each word once with its last value.
TEST(TableMirror, MergesUpdatesThatWait) {
  Mirrored<TrieTable4> test;
  test.mirror.advance();
  const unsigned before = test.device.updates();
  test.device.update_ns = 1;
  for (uint32_t i = 0; i < 40; ++i) {
    (void)test.table.add(TrieTable4::numbered(24, i % 8), static_cast<GroupId>(1 + i));
    test.table.publish();
    test.mirror.advance();
  }
  test.device.update_ns = 0;
  test.now_ns = 10;
  test.mirror.advance();
  EXPECT_EQ(test.mirror.generation(), test.generation_here());
  EXPECT_EQ(test.mirror.waiting(), 0u);
  EXPECT_LE(test.device.updates() - before, 4u)
      << "the first alone, the others as one, to both copies";
  const auto copy = test.mirror.table().acquire();
  EXPECT_EQ(0, std::memcmp(copy.arena, test.table.arena(), copy.words * 4));
}

TEST(TableMirror, ReportsADeviceWithoutMemory) {
  Mirrored<TrieTable4> test;
  test.device.memory_words = test.table.statistics().bytes / 4;  // for one copy
  EXPECT_EQ(test.mirror.advance(), Status::kNoMemory);
}

TEST(Journal, GivesEachChangedWordOnceWithItsLastValue) {
  std::vector<std::shared_ptr<const TableUpdate>> updates;
  Journal journal([&](auto update) { updates.push_back(std::move(update)); });
  std::vector<uint32_t> arena(100);
  journal.resized(arena.size());
  journal.publish(arena.data(), 1);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0]->image.size(), 100u);
  journal.note(7, 2, false);
  EXPECT_EQ(journal.awaited(), 1u);
  journal.note(8, 1, true);
  EXPECT_EQ(journal.awaited(), 2u);
  arena[8] = 5;
  journal.publish(arena.data(), 2);
  ASSERT_EQ(updates[1]->changes.size(), 2u);
  EXPECT_EQ(updates[1]->changes[1].word, 8u);
  EXPECT_EQ(updates[1]->changes[1].value, 5u);
  journal.note(8, 1, true);
  journal.publish(arena.data(), 3);
  EXPECT_EQ(updates[2]->changes.size(), 1u);
  journal.note(0, 26, true);
  journal.publish(arena.data(), 4);
  EXPECT_EQ(updates[3]->image.size(), 100u) << "more than a quarter";
  journal.note(50, 1, true);
  journal.publish(arena.data(), 5);
  EXPECT_EQ(updates[4]->changes.size(), 1u) << "noted words were forgotten";
}

TEST(DeviceReaders, WaitForWorkersForCopiesAndForAnswersInUse) {
  Qsbr workers;
  Mirrored<TrieTable4> test;
  DeviceReaders readers(workers);
  readers.watch(test.feed);
  (void)test.table.add(TrieTable4::numbered(24, 1), 7);
  test.table.publish();
  test.mirror.advance();
  auto copy = test.mirror.table().acquire();

  (void)test.table.remove(TrieTable4::numbered(24, 1));
  uint64_t token = readers.start();  // before it is published
  workers.quiescent();
  EXPECT_FALSE(readers.passed(token)) << "the copy still has the route";
  test.table.publish();
  test.mirror.advance();
  EXPECT_FALSE(readers.passed(token)) << "a job still uses its answers";
  test.mirror.table().release_arena(copy);
  EXPECT_FALSE(readers.passed(token));
  test.mirror.table().release_answers(copy);
  EXPECT_TRUE(readers.passed(token));

  uint64_t next = readers.start();
  EXPECT_FALSE(readers.passed(next)) << "workers";
  workers.quiescent();
  EXPECT_TRUE(readers.passed(next));
  EXPECT_TRUE(readers.passed(token)) << "still";
}

}  // namespace
}  // namespace hecto::gpu_offload
