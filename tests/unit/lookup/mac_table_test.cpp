#include "lookup/mac_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <unordered_map>

#include "tests/beds/qsbr.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::lookup {
namespace {

constexpr uint64_t kSeed = 0x9e3779b97f4a7c15;

TEST(MacTable, HasWhatWasSetUntilItIsErased) {
  MacTable table(64, kSeed, Memory::system(), 0, Reclaimer::none());
  const uint64_t station = MacTable::key(7, 0x010000000002);
  EXPECT_EQ(table.find(station), MacTable::kNone);
  EXPECT_TRUE(table.set(station, 3));
  EXPECT_EQ(table.find(station), 3);
  EXPECT_EQ(table.find(MacTable::key(8, 0x010000000002)), MacTable::kNone) << "of another VLAN";
  EXPECT_TRUE(table.set(station, 4)) << "it has moved";
  EXPECT_EQ(table.find(station), 4);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_TRUE(table.erase(station));
  EXPECT_FALSE(table.erase(station));
  EXPECT_EQ(table.find(station), MacTable::kNone);
  EXPECT_EQ(table.size(), 0u);
}

TEST(MacTable, AReadersMarkIsTakenOnce) {
  MacTable table(64, kSeed, Memory::system(), 0, Reclaimer::none());
  const uint64_t station = MacTable::key(1, 2);
  table.set(station, 3);
  EXPECT_TRUE(table.take_mark(station)) << "it was heard when it was learned";
  EXPECT_FALSE(table.take_mark(station));
  EXPECT_EQ(table.find(station), 3);
  EXPECT_FALSE(table.take_mark(station)) << "who is sent to has said nothing";
  EXPECT_EQ(table.find_and_mark(station, table.fetch(station)), 3);
  EXPECT_TRUE(table.take_mark(station));
  EXPECT_EQ(table.find_and_mark(MacTable::key(1, 9), table.fetch(MacTable::key(1, 9))),
            MacTable::kNone);
  EXPECT_FALSE(table.take_mark(MacTable::key(1, 9)));
}

TEST(MacTable, ASlotIsUsedAgainOnceReadersHaveLetGo) {
  Qsbr readers;
  MacTable table(16, kSeed, Memory::system(), 0, readers);
  uint64_t mac = 1;
  while (table.set(MacTable::key(0, mac), 1)) ++mac;  // until one finds no room
  const size_t full = table.size();
  ASSERT_GT(full, 16u);
  for (uint64_t each = 1; each < mac; ++each) table.erase(MacTable::key(0, each));
  table.reclaim();
  EXPECT_FALSE(table.set(MacTable::key(0, mac), 1)) << "a reader may still look at each slot";
  readers.quiescent();
  table.reclaim();
  EXPECT_TRUE(table.set(MacTable::key(0, mac), 1));
  EXPECT_EQ(table.size(), 1u);
}

TEST(MacTable, HoldsWhatItWasMadeForWhateverTheKeys) {
  for (const size_t entries : {1000u, 65536u}) {
    MacTable table(entries, kSeed, Memory::system(), 0, Reclaimer::none());
    for (uint64_t i = 0; i < entries; ++i)
      ASSERT_TRUE(table.set(MacTable::key(1, i << 24 | 2), static_cast<uint16_t>(i % 60))) << i;
    for (uint64_t i = 0; i < entries; ++i)
      ASSERT_EQ(table.find(MacTable::key(1, i << 24 | 2)), i % 60);
  }
}

TEST(MacTable, WithoutMemoryNothingFits) {
  struct None final : Memory {
    void* allocate(size_t, int) noexcept override { return nullptr; }
    void release(void*, size_t) noexcept override {}
  } none;
  MacTable table(64, kSeed, none, 0, Reclaimer::none());
  EXPECT_EQ(table.room(), 0u);
  EXPECT_FALSE(table.set(1, 1));
  EXPECT_FALSE(table.erase(1));
  EXPECT_FALSE(table.take_mark(1));
}

TEST(MacTable, IsAsAMapUnderRandomChanges) {
  std::mt19937_64 random(test_seed());
  MacTable table(4096, random(), Memory::system(), 0, Reclaimer::none());
  std::unordered_map<uint64_t, uint16_t> map;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t key = MacTable::key(random() % 3, random() % 2000 + 1);
    const auto place = static_cast<uint16_t>(random() % 64);
    if (random() % 3 == 0) {
      ASSERT_EQ(table.erase(key), map.erase(key) == 1);
      table.reclaim();
    } else if (table.set(key, place)) {
      map[key] = place;
    }
    const auto known = map.find(key);
    ASSERT_EQ(table.find(key), known == map.end() ? MacTable::kNone : known->second);
    ASSERT_EQ(table.size(), map.size());
  }
}

// What a reader finds under a key was never another key's.
TEST(MacTable, ReadersSeeNoOtherKeysPlace) {
  Qsbr readers(1);
  MacTable table(16, kSeed, Memory::system(), 0, readers);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (uint64_t mac = 1; mac <= 64; ++mac) {
        const uint64_t key = MacTable::key(0, mac);
        const uint16_t place = table.find_and_mark(key, table.fetch(key));
        if (place != MacTable::kNone) {
          ASSERT_EQ(place, mac);
        }
      }
      readers.quiescent();
    }
  });
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t mac = random() % 64 + 1;
    if (random() % 2 == 0)
      (void)table.set(MacTable::key(0, mac), static_cast<uint16_t>(mac));
    else
      (void)table.erase(MacTable::key(0, mac));
    table.reclaim();
  }
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace hecto::lookup
