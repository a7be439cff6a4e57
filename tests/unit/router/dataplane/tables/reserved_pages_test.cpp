#include "router/dataplane/tables/reserved_pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace hecto::router::test {
namespace {

constexpr size_t kPage = ReservedPages::kPageBytes;

// Of the mapping that begins there, from /proc/self/smaps.
uint64_t page_kilobytes(const void* block) {
  std::ifstream file("/proc/self/smaps");
  char begin[32];
  std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(block));
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    here |= line.starts_with(begin);
    if (here && line.starts_with("KernelPageSize:")) return std::stoull(line.substr(15));
  }
  return 0;
}

TEST(ReservedPages, AreNotTakenWhereTransparentOnesAreOn) {
  ReservedPages pages(true);
  pages.spare({{0, 8 * kPage}});
  EXPECT_EQ(pages.allocate(kPage, 0), nullptr);
  pages.count_small(kPage, true);
  EXPECT_EQ(pages.small_bytes(), 0u);
}

TEST(ReservedPages, AreTakenFromWhatThereIsToSpareOnly) {
  ReservedPages pages(false);
  EXPECT_EQ(pages.allocate(kPage, 0), nullptr) << "all of it is DPDK's";
  pages.spare({{0, kPage}, {1, 0}});
  EXPECT_EQ(pages.allocate(kPage, 1), nullptr);
  EXPECT_EQ(pages.allocate(kPage + 1, 0), nullptr);
  EXPECT_EQ(pages.allocate(kPage - 1, 0), nullptr) << "less than one";
  pages.spare({{0, uint64_t{1} << 50}});
  EXPECT_EQ(pages.allocate(size_t{1} << 49, 0), nullptr) << "no machine has so many";
}

TEST(ReservedPages, WhatHadToDoWithSmallOnesIsCounted) {
  ReservedPages pages(false);
  pages.count_small(kPage - 1, true);
  EXPECT_EQ(pages.small_bytes(), 0u);
  pages.count_small(kPage + 1, true);
  pages.count_small(kPage, true);
  EXPECT_EQ(pages.small_bytes(), 3 * kPage);
  pages.count_small(kPage + 1, false);
  EXPECT_EQ(pages.small_bytes(), kPage);
}

TEST(ReservedPages, HoldTheTableAndComeBack) {
  if (free_reserved_bytes(0) < 2 * kPage) GTEST_SKIP() << "needs two free hugepages of 2 MiB";
  ReservedPages pages(false);
  pages.spare({{0, 2 * kPage}});
  auto* const block = static_cast<char*>(pages.allocate(kPage + 1, 0));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(page_kilobytes(block), 2048u);
  EXPECT_TRUE(std::all_of(block, block + 2 * kPage, [](char byte) { return byte == 0; }));
  EXPECT_EQ(pages.allocate(kPage, 0), nullptr) << "they are spent";
  EXPECT_TRUE(pages.release(block));
  EXPECT_FALSE(pages.release(block));
  void* const again = pages.allocate(kPage, 0);
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(pages.release(again));
}

}  // namespace
}  // namespace hecto::router::test
