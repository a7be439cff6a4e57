// Frames with labels that are not as they should be: named, or Linux's, and never read beyond.
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/labels_bed.hpp"

namespace hecto::router::test {
namespace {

class LabelsHostileTest : public LabelsBed {
 protected:
  void SetUp() override {
    LabelsBed::SetUp();
    make_red();
    route(kRedTable, "10.99.0.0/24");
    label(300, {by_right({400})});
    label(301, {by_right({})});
    label(302, {into(50)});
    label(303, {by_right({400}), by_right({401, 402})});
    LinuxLink lo;
    lo.ifindex = 1;
    lo.name = "lo";
    left_.routing().link(lo, false);
    label(0, {into(1)});
  }
  size_t gone() { return frames(0).size() + frames(1).size() + left_.refused().size(); }
};

TEST_F(LabelsHostileTest, FramesThatAreCutAnywhereAreAccountedFor) {
  for (const uint32_t number : {300u, 301u, 302u, 303u, 0u, 999u})
    for (const Frame& ip : {from_host4("10.99.0.1"), from_host6("fd00:99::1")}) {
      const Frame whole = labelled(ip, {{number, 64, false}, {17, 64, false}, {18, 64, true}});
      const Frame bare = labelled(ip, {{number, 64, true}});
      for (const Frame& frame : {whole, bare})
        for (size_t bytes = kEthernetBytes; bytes <= frame.size(); ++bytes) {
          left_.run({packet(Frame(frame.begin(), frame.begin() + static_cast<long>(bytes)))}, 0);
          ASSERT_EQ(gone(), 1u) << number << " cut to " << bytes;
        }
    }
}

TEST_F(LabelsHostileTest, AStackWithoutBottomIsNamed) {
  const Frame ip = from_host4("10.99.0.1");
  for (const uint32_t number : {300u, 301u, 302u, 303u}) {
    Frame cut = labelled(ip, {{number, 64, false}, {17, 64, false}});
    cut.resize(kEthernetBytes + 8);
    EXPECT_EQ(refused(cut), std::vector{Reason::kMplsMalformed});
    cut.resize(kEthernetBytes + 4);
    EXPECT_EQ(refused(cut), std::vector{Reason::kMplsMalformed});
    cut.resize(kEthernetBytes + 3);
    EXPECT_EQ(refused(cut), std::vector{Reason::kMplsMalformed}) << "not even one";
  }
  // Deeper than anybody looks: its top is enough to swap it.
  const Frame deep = labelled(ip, std::vector<Entry>(40, Entry{300, 64, false}));
  EXPECT_EQ(through(deep).size(), deep.size());
}

TEST_F(LabelsHostileTest, WhatIsNoIpIsNotPopped) {
  for (const uint8_t version : {0x00, 0x44, 0x55, 0xf5}) {
    Frame ip = from_host4("10.99.0.1");
    ip[kIp] = version;
    EXPECT_EQ(refused(labelled(ip, {{301, 64, true}})), std::vector{Reason::kMplsMalformed});
  }
  Frame pseudo_wire = labelled(from_host4("10.99.0.1"), {{301, 64, true}});
  store32_be(&pseudo_wire[kIp + 4], 0);
  EXPECT_EQ(refused(pseudo_wire), std::vector{Reason::kMplsMalformed});
  Frame swapped = pseudo_wire;
  store32_be(&swapped[kIp], 300u << 12 | 0x140);
  EXPECT_EQ(through(swapped).size(), swapped.size()) << "a swap does not ask";
}

TEST_F(LabelsHostileTest, SeveralSegmentsAreLinuxs) {
  const Frame frame = labelled(from_host4("10.99.0.1"), {{300, 64, true}});
  left_.run({packet(frame, {40})}, 0);
  EXPECT_TRUE(frames(1).empty());
  EXPECT_EQ(left_.refused(), std::vector{Reason::kOtherProtocol});
}

TEST_F(LabelsHostileTest, EachOfManyDamagedFramesIsAccountedFor) {
  std::mt19937 random(test_seed());
  const uint32_t numbers[] = {300, 301, 302, 303, 0, 1, 2, 16, 999};
  for (int round = 0; round < 16000; ++round) {
    std::vector<Entry> stack(1 + random() % 20);
    for (Entry& each : stack)
      each = {numbers[random() % 9], static_cast<uint8_t>(random() % 4 == 0 ? random() % 3 : 64),
              random() % 16 == 0};
    stack.back().bottom = random() % 8 != 0;
    Frame frame =
        labelled(random() % 2 == 0 ? from_host4("10.99.0.1") : from_host6("fd00:99::1"), stack);
    for (unsigned n = random() % 4; n > 0; --n)
      frame[12 + random() % (frame.size() - 12)] = static_cast<uint8_t>(random());
    if (random() % 4 == 0)
      frame.resize(kEthernetBytes + random() % (frame.size() - kEthernetBytes));
    left_.run({packet(frame)}, 0);
    ASSERT_EQ(gone(), 1u) << "round " << round;
  }
}

}  // namespace
}  // namespace hecto::router::test
