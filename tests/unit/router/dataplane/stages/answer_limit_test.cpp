#include "router/dataplane/stages/answer_limit.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "tests/beds/clock.hpp"

namespace hecto::router::test {
namespace {

struct Header {
  explicit Header(uint32_t source, bool v6 = false) {
    bytes[0] = v6 ? 0x60 : 0x45;
    std::memcpy(bytes + (v6 ? 8 : 12), &source, 4);
  }
  uint8_t bytes[40] = {};
};

std::unique_ptr<AnswerLimit> limit(uint32_t pps) {
  auto made = std::make_unique<AnswerLimit>();
  made->configure(kHz, pps);
  return made;
}

TEST(AnswerLimit, OneSourceDoesNotTakeTheAnswersOfAnother) {
  for (const bool v6 : {false, true}) {
    auto answers = limit(1000);
    const Header loud(0x01020304, v6), quiet(0x05060708, v6);
    unsigned to_loud = 0, to_quiet = 0;
    for (uint64_t now = kHz; now < 2 * kHz; now += 10) {  // 100,000 a second
      to_loud += answers->take(loud.bytes, 0, now);
      if (now % (kHz / 5) == 0) to_quiet += answers->take(quiet.bytes, 0, now);
    }
    EXPECT_NEAR(to_loud, AnswerLimit::kSourcePps + AnswerLimit::kSourceBurst, 2);
    EXPECT_EQ(to_quiet, 5u);
  }
}

TEST(AnswerLimit, ForgedSourcesOfOneInterfaceLeaveTheOthersTheirs) {
  auto answers = limit(400);
  unsigned to_forged = 0, to_honest = 0;
  for (uint64_t now = kHz; now < 2 * kHz; now += 10) {
    to_forged += answers->take(Header(static_cast<uint32_t>(now)).bytes, 0, now);
    if (now % (kHz / 5) == 0) to_honest += answers->take(Header(7).bytes, 1, now);
  }
  EXPECT_NEAR(to_forged, 117, 3);  // a share of 100, and its burst
  EXPECT_EQ(to_honest, 5u);
}

TEST(AnswerLimit, AllTogetherHoldTheRate) {
  auto answers = limit(400);
  unsigned sent = 0;
  for (uint64_t now = kHz; now < 2 * kHz; now += 10)
    sent += answers->take(Header(static_cast<uint32_t>(now)).bytes,
                          static_cast<InterfaceId>(now / 10 % 100), now);
  EXPECT_NEAR(sent, 441, 3);
}

TEST(AnswerLimit, ARateOfZeroAnswersNobody) {
  auto answers = limit(0);
  EXPECT_FALSE(answers->take(Header(1).bytes, 0, kHz));
}

}  // namespace
}  // namespace hecto::router::test
