// Loads and stores: the order that their names promise, at addresses of any kind.
#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hecto {
namespace {

constexpr std::array<uint8_t, 9> kBytes = {0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
constexpr const uint8_t* kOdd = kBytes.data() + 1;

TEST(Bytes, BigEndianLoadsAreNetworkOrder) {
  EXPECT_EQ(load16_be(kOdd), 0x0102);
  EXPECT_EQ(load32_be(kOdd), 0x01020304u);
  EXPECT_EQ(load64_be(kOdd), 0x0102030405060708u);
}

TEST(Bytes, NativeLoadsAreAsTheBytesLie) {
  EXPECT_EQ(load16_native(kOdd), 0x0201);
  EXPECT_EQ(load32_native(kOdd), 0x04030201u);
  EXPECT_EQ(load64_native(kOdd), 0x0807060504030201u);
}

TEST(Bytes, BigEndianStoresReadBackAndTouchNothingElse) {
  std::array<uint8_t, 11> memory{};
  memory.fill(0xaa);
  store16_be(memory.data() + 1, 0x0102);
  EXPECT_EQ(load16_be(memory.data() + 1), 0x0102);
  EXPECT_EQ(memory[0], 0xaa);
  EXPECT_EQ(memory[3], 0xaa);
  store32_be(memory.data() + 1, 0x01020304);
  EXPECT_EQ(load32_be(memory.data() + 1), 0x01020304u);
  EXPECT_EQ(memory[5], 0xaa);
  store64_be(memory.data() + 1, 0x0102030405060708);
  EXPECT_EQ(load64_be(memory.data() + 1), 0x0102030405060708u);
  EXPECT_EQ(memory[0], 0xaa);
  EXPECT_EQ(memory[9], 0xaa);
}

TEST(Bytes, A16BitStoreTakesTheLowBits) {
  std::array<uint8_t, 2> memory{};
  store16_be(memory.data(), 0xabcd1234);
  EXPECT_EQ(memory, (std::array<uint8_t, 2>{0x12, 0x34}));
}

}  // namespace
}  // namespace hecto
