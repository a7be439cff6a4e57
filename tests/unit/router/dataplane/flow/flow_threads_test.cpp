// One writer against readers: what is there is found always, and as a whole.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "router/dataplane/flow/flow_table.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/flow/flow_keys.hpp"

namespace hecto::router::test {
namespace {

// Keys below kStays are there from the first to the last; the others come and go, and lines grow with
// them. Action and priority of each follow from its key.
TEST(FlowTableThreads, ReadersSeeEachEntryAsItWasWritten) {
  constexpr uint32_t kStays = 200, kAll = 4000, kChanges = 60'000;
  constexpr unsigned kReaders = 2;
  lookup::Qsbr readers(kReaders);
  FlowTable<FilterKey4> table({kAll, 0, random_flow_seed()}, lookup::Memory::system(), readers);
  FilterKey4 masks[2];
  std::memset(static_cast<void*>(masks), 0, sizeof masks);
  for (FilterKey4& mask : masks) std::memset(mask.source, 0xff, 4);
  masks[1].protocol = 0xff;
  const auto key_of = [&](uint32_t n) {
    FilterKey4 key;
    std::memset(static_cast<void*>(&key), 0, sizeof key);
    std::memcpy(key.source, &n, 4);
    return key;
  };
  const auto set = [&](uint32_t n, uint32_t times) {
    return table.set(key_of(n), masks[n % 2], {n, n * 1000 + times % 1000, 0, 0, 0}).has_value();
  };
  for (uint32_t n = 0; n < kStays; ++n) ASSERT_TRUE(set(n, 0));
  table.commit();

  std::atomic<bool> ends{false};
  std::atomic<uint64_t> wrong{0}, lost{0}, looked{0};
  std::vector<std::thread> threads;
  for (unsigned reader = 0; reader < kReaders; ++reader)
    threads.emplace_back([&, reader] {
      std::mt19937 random(reader);
      FilterKey4 keys[kFlowGroup];
      uint32_t numbers[kFlowGroup], found[kFlowGroup];
      while (!ends.load()) {
        for (unsigned i = 0; i < kFlowGroup; ++i) {
          numbers[i] = random() % (i % 2 == 0 ? kStays : kAll);
          keys[i] = key_of(numbers[i]);
        }
        table.find(table.list(), keys, kFlowGroup, nullptr, found);
        for (unsigned i = 0; i < kFlowGroup; ++i) {
          if (found[i] == 0) {
            lost += numbers[i] < kStays;
            continue;
          }
          const auto& entry = table.entry(found[i]);
          wrong += entry.action / 1000 != numbers[i] || entry.priority != numbers[i];
        }
        looked += kFlowGroup;
        readers.quiescent(reader);
      }
    });
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  // Who finds no room waits for the readers.
  const auto let_go = [&] {
    table.commit();
    std::this_thread::yield();
  };
  for (uint32_t change = 0; change < kChanges; ++change) {
    const uint32_t n = random() % kAll;
    const uint32_t index = table.index_of(key_of(n), masks[n % 2]);
    if (n >= kStays && index != 0 && random() % 2 == 0)
      table.erase(index);
    else
      while (!set(n, change)) let_go();
    if (change % 8 == 0) table.commit();
    if (change % 64 == 0) let_go();
  }
  while (looked.load() < 1000) let_go();
  table.commit();
  ends = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(lost, 0u);
}

}  // namespace
}  // namespace hecto::router::test
