// Secret memory: zeroed, kept out of dumps, wiped when it is given back, for every size.
#include "base/secret_memory.hpp"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace hecto {
namespace {

// The flags that /proc/self/smaps shows for the mapping that `address` lies in; "" for none.
std::string vm_flags(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= wanted && wanted < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}
bool kept_out_of_dumps(const void* address) {
  return vm_flags(address).find(" dd ") != std::string::npos;
}
bool all_zero(const void* memory, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(memory);
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != 0) return false;
  return true;
}

// About every step: a block, a page, a slab, more.
constexpr size_t kSizes[] = {1, 63, 64, 65, 100, 4032, 4095, 4096, 4097, 1 << 20, (2 << 20) + 1};

class SecretMemory : public testing::TestWithParam<size_t> {};

TEST_P(SecretMemory, IsZeroedAlignedAndKeptOutOfDumps) {
  auto* block = static_cast<uint8_t*>(allocate_secret(GetParam()));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_TRUE(all_zero(block, GetParam()));
  EXPECT_TRUE(kept_out_of_dumps(block));
  EXPECT_TRUE(kept_out_of_dumps(block + GetParam() - 1));
  memset(block, 0xaa, GetParam());
  release_secret(block, GetParam());
}

TEST_P(SecretMemory, IsZeroedAgainAfterAnotherHadIt) {
  for (int i = 0; i < 3; ++i) {
    void* block = allocate_secret(GetParam());
    ASSERT_TRUE(all_zero(block, GetParam()));
    memset(block, 0xaa, GetParam());
    release_secret(block, GetParam());
  }
}

TEST_P(SecretMemory, BlocksDoNotOverlap) {
  std::set<uint8_t*> blocks;
  const size_t count = GetParam() > 4096 ? 4 : 200;
  for (size_t i = 0; i < count; ++i) {
    auto* block = static_cast<uint8_t*>(allocate_secret(GetParam()));
    memset(block, static_cast<int>(i), GetParam());
    blocks.insert(block);
  }
  EXPECT_EQ(blocks.size(), count);
  uint8_t* end = nullptr;
  for (uint8_t* block : blocks) {
    EXPECT_GE(block, end);
    end = block + GetParam();
    EXPECT_EQ(block[0], block[GetParam() - 1]);
    release_secret(block, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SecretMemory, testing::ValuesIn(kSizes));

TEST(SecretMemoryBlocks, AreWipedWhenTheyAreGivenBack) {
  auto* block = static_cast<uint8_t*>(allocate_secret(256));
  memset(block, 0xaa, 256);
  release_secret(block, 256);
  // The slab stays mapped; a block's first bytes hold the list of free ones.
  const volatile uint8_t* after = block;
  for (size_t i = sizeof(void*); i < 256; ++i) ASSERT_EQ(after[i], 0) << i;
}

TEST(SecretMemoryBlocks, LargeOnesAreUnmapped) {
  void* pages = allocate_secret(size_t{1} << 20);
  ASSERT_TRUE(kept_out_of_dumps(pages));
  release_secret(pages, size_t{1} << 20);
  EXPECT_FALSE(kept_out_of_dumps(pages));
}

TEST(SecretMemoryBlocks, SizesOfOneClassShareTheirBlocks) {
  void* first = allocate_secret(100);
  release_secret(first, 100);
  void* second = allocate_secret(128);
  EXPECT_EQ(first, second);
  void* other = allocate_secret(129);
  EXPECT_NE(first, other);
  release_secret(second, 128);
  release_secret(other, 129);
}

TEST(SecretMemoryBlocks, NothingGivenBackIsNothing) {
  release_secret(nullptr, 100);
}

TEST(SecretMemoryBlocks, ThreadsGetBlocksOfTheirOwn) {
  const auto churn = [](uint8_t mark, bool& good) {
    for (int i = 0; i < 2000; ++i) {
      auto* block = static_cast<uint8_t*>(allocate_secret(192));
      good = good && all_zero(block, 192);
      memset(block, mark, 192);
      for (size_t at = 0; at < 192; ++at) good = good && block[at] == mark;
      release_secret(block, 192);
    }
  };
  bool good[4] = {true, true, true, true};
  std::vector<std::thread> threads;
  for (uint8_t i = 0; i < 4; ++i)
    threads.emplace_back(churn, static_cast<uint8_t>(i + 1), std::ref(good[i]));
  for (std::thread& thread : threads) thread.join();
  for (const bool each : good) EXPECT_TRUE(each);
}

TEST(KeepSecret, KeepsPagesOfOthersOutOfDumps) {
  void* pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_TRUE(keep_secret(pages, 4096));
  EXPECT_TRUE(kept_out_of_dumps(pages));
  munmap(pages, 4096);
}

TEST(KeepSecret, SaysSoWhereTheKernelWillNot) {
  void* pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  munmap(pages, 4096);
  EXPECT_FALSE(keep_secret(pages, 4096));
}

TEST(SecretBytes, LieInSecretMemoryAndAreWiped) {
  SecretBytes bytes(32, 0xaa);
  EXPECT_TRUE(kept_out_of_dumps(bytes.data()));
  const volatile uint8_t* memory = bytes.data();
  wipe(bytes);
  EXPECT_TRUE(bytes.empty());
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(memory[i], 0);
  wipe(bytes);  // of nothing
}

TEST(SecretBytes, WhatTheyOutgrowIsWiped) {
  SecretBytes bytes(64, 0xaa);
  const volatile uint8_t* old = bytes.data();
  bytes.resize(1024, 0xbb);
  ASSERT_NE(old, bytes.data());
  for (size_t i = sizeof(void*); i < 64; ++i) ASSERT_EQ(old[i], 0) << i;
}

TEST(SecretResource, HoldsContainersOutsideOfDumps) {
  std::pmr::map<int, int> map(&secret_resource());
  for (int i = 0; i < 100; ++i) map[i] = i;
  for (const auto& entry : map) ASSERT_TRUE(kept_out_of_dumps(&entry));
  EXPECT_TRUE(secret_resource().is_equal(secret_resource()));
  EXPECT_FALSE(secret_resource().is_equal(*std::pmr::new_delete_resource()));
}

}  // namespace
}  // namespace hecto
