// A checksum that is changed, against one that is summed anew.
#include "base/checksum_change.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/beds/seed.hpp"

namespace hecto {
namespace {

constexpr std::array<uint16_t, 10> kCorners = {0x0000, 0x0001, 0x00ff, 0x0100, 0x7fff,
                                               0x8000, 0xfeff, 0xff00, 0xfffe, 0xffff};

// Of three words; the checksum over them stands in front.
struct Summed {
  uint8_t bytes[8] = {};
  Summed(uint16_t a, uint16_t b, uint16_t c) {
    store16_be(bytes + 2, a);
    store16_be(bytes + 4, b);
    store16_be(bytes + 6, c);
    store16_be(bytes, anew());
  }
  uint16_t anew() const { return static_cast<uint16_t>(~fold_sum(sum_words(bytes + 2, 6))); }
  uint16_t checksum() const { return load16_be(bytes); }
  bool holds() const { return fold_sum(sum_words(bytes, sizeof bytes)) == 0xffff; }
  bool is_zero() const { return sum_words(bytes + 2, 6) == 0; }
  // The same in bits; where all is zero there are two, which no packet of IP is.
  bool is_right() const {
    if (is_zero()) return checksum() == 0 || checksum() == 0xffff;
    return holds() && checksum() == anew();
  }
};

// RFC 1624 §4: the header whose checksum equation 2 gets wrong.
TEST(ChecksumChange, GivesTheZeroOfTheRfcsExample) {
  EXPECT_EQ(changed_checksum(0xdd2f, delta16(0x5555, 0x3285)), 0x0000);
}

TEST(ChecksumChange, IsTheWholeSumAtEveryCorner) {
  for (const uint16_t before : kCorners)
    for (const uint16_t after : kCorners)
      for (const uint16_t other : kCorners)
        for (const uint16_t third : kCorners) {
          Summed word(before, other, third);
          ASSERT_TRUE(word.holds());
          const uint16_t was = load16_native(word.bytes + 2);
          store16_be(word.bytes + 2, after);
          const uint16_t delta = delta16(was, load16_native(word.bytes + 2));
          change_checksum(word.bytes, delta);
          ASSERT_TRUE(word.is_right()) << before << " " << after << " " << other << " " << third;
          store16_be(word.bytes + 2, before);
          change_checksum(word.bytes, reverse_delta(delta));
          ASSERT_TRUE(word.is_right()) << before << " " << after << " " << other << " " << third;

          Summed two(before, other, third);
          const uint32_t were = load32_native(two.bytes + 2);
          store16_be(two.bytes + 2, after);
          store16_be(two.bytes + 4, third);
          const uint32_t are = load32_native(two.bytes + 2);
          change_checksum(two.bytes, delta32(were, are));
          ASSERT_TRUE(two.is_right()) << before << " " << after << " " << other << " " << third;

          Summed many(before, other, third);
          uint8_t with[6];
          store16_be(with, third);
          store16_be(with + 2, after);
          store16_be(with + 4, other);
          ChecksumChange change;
          change.replace(many.bytes + 2, with, sizeof with);
          change_checksum(many.bytes, change.delta());
          ASSERT_TRUE(many.is_right()) << before << " " << after << " " << other << " " << third;
        }
}

TEST(ChecksumChange, AddsUpInAnyOrder) {
  std::mt19937_64 random(test_seed());
  for (unsigned i = 0; i < 100'000; ++i) {
    const auto word = [&] {
      return random() % 4 == 0 ? kCorners[random() % kCorners.size()]
                               : static_cast<uint16_t>(random());
    };
    const uint16_t a = word(), b = word(), c = word(), d = word(), e = word(), f = word();
    Summed sum(a, b, c);
    const uint8_t* const bytes = sum.bytes;
    const uint16_t were[3] = {load16_native(bytes + 2), load16_native(bytes + 4),
                              load16_native(bytes + 6)};
    store16_be(sum.bytes + 2, d);
    store16_be(sum.bytes + 4, e);
    store16_be(sum.bytes + 6, f);
    const uint16_t first = delta16(were[0], load16_native(bytes + 2)),
                   second = delta16(were[1], load16_native(bytes + 4)),
                   third = delta16(were[2], load16_native(bytes + 6));
    change_checksum(sum.bytes, join_deltas(join_deltas(third, first), second));
    ASSERT_TRUE(sum.is_right()) << "seed " << test_seed();
  }
}

TEST(ChecksumChange, OneThatWasWrongStaysWrong) {
  Summed sum(0x1234, 0x5678, 0x9abc);
  sum.bytes[1] ^= 1;
  const uint16_t was = load16_native(sum.bytes + 2);
  store16_be(sum.bytes + 2, 0x4321);
  change_checksum(sum.bytes, delta16(was, load16_native(sum.bytes + 2)));
  EXPECT_FALSE(sum.holds());
}

// Every checksum there is, and what makes it zero.
TEST(ChecksumChange, NeverMakesUdpsNone) {
  for (unsigned before = 0; before <= 0xffff; ++before)
    for (const uint16_t delta : kCorners) {
      uint8_t checksum[2];
      store16_native(checksum, static_cast<uint16_t>(before));
      change_udp_checksum(checksum, delta);
      const uint16_t after = load16_native(checksum);
      ASSERT_EQ(after == 0, before == 0) << before << " " << delta;
      const uint16_t plain = changed_checksum(static_cast<uint16_t>(before), delta);
      ASSERT_EQ(after, before == 0 ? 0 : plain == 0 ? 0xffff : plain);
    }
}

}  // namespace
}  // namespace hecto
