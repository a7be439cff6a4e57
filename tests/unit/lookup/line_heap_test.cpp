#include "lookup/line_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "tests/beds/seed.hpp"

namespace hecto::lookup {
namespace {

constexpr uint32_t kFirst = 3 * LineHeap::kMaxLines;
constexpr uint32_t kLines = 64 * LineHeap::kMaxLines;

// Blocks of the largest size until there are no more.
uint32_t take_largest(LineHeap& heap) {
  uint32_t count = 0;
  while (heap.take(LineHeap::kMaxLines)) ++count;
  return count;
}

TEST(LineHeap, GivesNothingBeforeItHasRoom) {
  LineHeap heap;
  EXPECT_FALSE(heap.take(1));
  heap.start_at(kFirst);
  EXPECT_FALSE(heap.take(1));
  heap.grow(kFirst + LineHeap::kMaxLines);
  EXPECT_EQ(heap.take(LineHeap::kMaxLines), kFirst);
  EXPECT_FALSE(heap.take(1));
}

TEST(LineHeap, BlocksNeverOverlapAndBecomeOneAgain) {
  struct Block {
    uint32_t line;
    uint32_t taken;  // lines, a power of two
  };
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 rng(seed);
  LineHeap heap;
  heap.start_at(kFirst);
  heap.grow(kFirst + kLines / 2);
  std::vector<bool> used(kFirst + kLines);
  std::vector<Block> blocks;
  uint32_t lines = 0;
  uint32_t refused = 0;
  for (int round = 0; round < 200000; ++round) {
    if (round == 100000) heap.grow(kFirst + kLines);
    // Fills up and drains in turn.
    bool take = rng() % 8 < (round / 5000 % 2 == 0 ? 5 : 3);
    if (take) {
      auto wanted = static_cast<uint32_t>(1 + rng() % LineHeap::kMaxLines);
      auto line = heap.take(wanted);
      if (!line) {
        ++refused;
        continue;
      }
      Block block{*line, std::bit_ceil(wanted)};
      ASSERT_GE(block.line, kFirst);
      ASSERT_LE(block.line + block.taken, heap.size());
      for (uint32_t i = 0; i < block.taken; ++i) {
        ASSERT_FALSE(used[block.line + i]) << "line " << block.line + i << " is in two blocks";
        used[block.line + i] = true;
      }
      lines += block.taken;
      blocks.push_back(block);
    } else if (!blocks.empty()) {
      std::swap(blocks[rng() % blocks.size()], blocks.back());
      Block block = blocks.back();
      blocks.pop_back();
      heap.give_back(block.line);
      std::fill_n(used.begin() + block.line, block.taken, false);
      lines -= block.taken;
    }
    ASSERT_EQ(heap.used(), lines);
  }
  EXPECT_GT(refused, 0u) << "was never full";
  for (const Block& block : blocks) heap.give_back(block.line);
  EXPECT_EQ(heap.used(), 0u);
  EXPECT_EQ(take_largest(heap), kLines / LineHeap::kMaxLines);
}

// A block is refused only where no aligned run of its size is free: nothing free is lost.
TEST(LineHeap, FindsEveryFreeRun) {
  std::mt19937_64 rng(7);
  LineHeap heap;
  heap.start_at(0);
  heap.grow(kLines);
  for (uint32_t i = 0; i < kLines; ++i) ASSERT_TRUE(heap.take(1));
  std::vector<bool> used(kLines, true);
  for (uint32_t size = 1; size <= LineHeap::kMaxLines; size *= 2) {
    for (uint32_t i = 0; i < kLines; ++i) {
      if (used[i] && rng() % 2) {
        heap.give_back(i);
        used[i] = false;
      }
    }
    uint32_t runs = 0;
    for (uint32_t first = 0; first < kLines; first += size) {
      runs += std::none_of(used.begin() + first, used.begin() + first + size, std::identity{});
    }
    std::vector<uint32_t> taken;
    while (auto line = heap.take(size)) taken.push_back(*line);
    EXPECT_EQ(taken.size(), runs) << size << " lines";
    for (uint32_t line : taken) heap.give_back(line);
  }
}

}  // namespace
}  // namespace hecto::lookup
