// The Internet checksum, against a naive twin and the example of RFC 1071.
#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "tests/beds/seed.hpp"

namespace hecto {
namespace {

// RFC 1071 §1, a word at a time, the last byte padded with zero; in network order.
uint16_t naive_sum(const uint8_t* at, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i += 2)
    sum += static_cast<uint64_t>(at[i]) << 8 | (i + 1 < bytes ? at[i + 1] : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// Zero has two forms in one's complement.
uint16_t one_zero(uint16_t sum) {
  return sum == 0xffff ? 0 : sum;
}

std::vector<uint8_t> random_bytes(std::mt19937_64& random, size_t bytes) {
  std::vector<uint8_t> all(bytes);
  for (uint8_t& byte : all) byte = static_cast<uint8_t>(random());
  return all;
}

constexpr std::array<uint8_t, 20> kHeader = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
                                             0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
                                             0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

bool holds(const std::array<uint8_t, 20>& header) {
  return ipv4_checksum_holds(load64_native(header.data()), load64_native(header.data() + 8),
                             load32_native(header.data() + 16));
}

TEST(Checksum, TheExampleOfRfc1071) {
  constexpr uint8_t kData[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(fold_sum(sum_words(kData, sizeof kData)), 0xddf2);
  EXPECT_EQ(sum_data(kData, sizeof kData), 0xddf2);
}

TEST(Checksum, OfAHeader) {
  std::array<uint8_t, 20> header = kHeader;
  header[10] = header[11] = 0;
  EXPECT_EQ(ipv4_checksum(header.data(), header.size()), 0xb861);
}

TEST(Checksum, FoldsEveryCarry) {
  EXPECT_EQ(fold_sum(0), 0);
  EXPECT_EQ(fold_sum(0xffff), 0xffff);
  EXPECT_EQ(fold_sum(0x10000), 1);
  EXPECT_EQ(fold_sum(0x1fffe), 0xffff);
  EXPECT_EQ(fold_sum(0xffffffff), 0xffff);
  EXPECT_EQ(fold_sum(~uint64_t{0}), 0xffff);
}

TEST(Checksum, OfDataIsTheNaiveOneAtEveryLength) {
  std::mt19937_64 random(test_seed());
  for (size_t bytes = 0; bytes < 200; ++bytes) {
    const auto data = random_bytes(random, bytes + 1);
    for (const size_t offset : {0, 1}) {
      const size_t length = bytes + 1 - offset;
      EXPECT_EQ(one_zero(sum_data(data.data() + offset, static_cast<uint32_t>(length))),
                one_zero(naive_sum(data.data() + offset, length)))
          << length << " bytes";
    }
  }
  const std::vector<uint8_t> ones(65536, 0xff);  // every addition carries
  EXPECT_EQ(sum_data(ones.data(), 65536), 0xffff);
}

TEST(Checksum, HoldsForARightHeaderAndForNoOtherBit) {
  EXPECT_TRUE(holds(kHeader));
  for (size_t bit = 0; bit < kHeader.size() * 8; ++bit) {
    std::array<uint8_t, 20> header = kHeader;
    header[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(holds(header)) << bit;
  }
}

TEST(Checksum, HoldsAsTheNaiveSumSaysForAnyHeader) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 20000; ++i) {
    std::array<uint8_t, 20> header;
    for (uint8_t& byte : header) byte = static_cast<uint8_t>(random());
    if (i % 2 == 0) {
      header[10] = header[11] = 0;
      store16_be(header.data() + 10, ipv4_checksum(header.data(), 20));
    }
    ASSERT_EQ(holds(header), one_zero(naive_sum(header.data(), 20)) == 0);
  }
}

TEST(Checksum, HoldsWhereTheFieldIsTheOtherZero) {
  std::array<uint8_t, 20> zero{};
  EXPECT_TRUE(holds(zero));
  zero.fill(0xff);
  EXPECT_TRUE(holds(zero));
}

}  // namespace
}  // namespace hecto
