// Several next hops: which of them have buckets, and which flows move when they change.
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

TEST(Ecmp, LeavesOutWhatIsDownWhileAnotherLives) {
  Bed bed;
  bed.add_interface(0);
  bed.add_interface(1);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(12, "10.0.1.1", 2);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1", 3)}));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 01 | if1 02}");
  uint64_t fib_writes = bed.fib_writes();
  bed.link(0, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if1 02}");
  bed.link(1, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{drop interface_down}");
  bed.link(0, true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 01}");
  bed.link(1, true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 01 | if1 02}");
  EXPECT_EQ(bed.fib_writes(), fib_writes);
}

// By bucket the last byte of the neighbor's MAC.
std::vector<uint8_t> owners(const Bed& bed, const std::string& address) {
  std::vector<uint8_t> found;
  for (GroupId owner : bed.next_hops->buckets(bed.group(ip(address))))
    found.push_back(bed.next_hops->view(0).record(owner).header[5]);
  return found;
}

class EcmpReplaced : public ::testing::Test {
 protected:
  void SetUp() override {
    bed.add_interface(1, "10.0.1.254/24");
    for (uint8_t last = 1; last <= 64; ++last) bed.neighbor(12, gateway(last), last);
  }
  static std::string gateway(uint8_t last) { return fmt::format("10.0.1.{}", last); }
  static std::vector<NextHop> hops(uint8_t first, uint8_t last) {
    std::vector<NextHop> made;
    for (uint8_t i = first; i <= last; ++i) made.push_back(hop(12, gateway(i)));
    return made;
  }
  static void expect_only_moved(const std::vector<uint8_t>& before,
                                const std::vector<uint8_t>& after, uint8_t gone) {
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] != gone) {
        EXPECT_EQ(after[i], before[i]) << i;
      }
      EXPECT_NE(after[i], gone) << i;
    }
  }
  explicit EcmpReplaced(bool consistent = false)
      : bed(512, 0, lookup::Reclaimer::none(), 100'000, consistent) {}
  Bed bed;
};

// FRR and Linux give a whole new list of next hops.
TEST_F(EcmpReplaced, AnotherListMovesTheLostMembersFlowsAlone) {
  for (const uint8_t members : {64, 4}) {
    bed.add(linux_route("192.0.2.0/24", hops(1, members)), true);
    const auto before = owners(bed, "192.0.2.1");
    bed.add(linux_route("192.0.2.0/24", hops(1, members - 1)), true);
    expect_only_moved(before, owners(bed, "192.0.2.1"), members);
  }
}

// Deleted and added again, as IPv6 routes and reloads are: nothing holds the old set any more.
TEST_F(EcmpReplaced, ARouteThatWasGoneForAMomentIsRemembered) {
  const Route four = linux_route("192.0.2.0/24", hops(1, 4));
  bed.add(four);
  const auto before = owners(bed, "192.0.2.1");
  bed.remove(four);
  bed.add(linux_route("198.51.100.0/24", hops(30, 40)));  // its groups are given to others
  bed.add(linux_route("192.0.2.0/24", hops(1, 3)));
  expect_only_moved(before, owners(bed, "192.0.2.1"), 4);
}

// The route moves to a set like the one it had, while another set is there that is less like it.
TEST_F(EcmpReplaced, TheMostSimilarSetCounts) {
  bed.add(linux_route("198.51.100.0/24", hops(3, 40)));
  bed.add(linux_route("192.0.2.0/24", hops(1, 4)));
  const auto before = owners(bed, "192.0.2.1");
  bed.add(linux_route("192.0.2.0/24", hops(2, 4)), true);
  expect_only_moved(before, owners(bed, "192.0.2.1"), 1);
}

TEST_F(EcmpReplaced, AJoiningMemberTakesItsShareAlone) {
  bed.add(linux_route("192.0.2.0/24", hops(1, 3)));
  const auto before = owners(bed, "192.0.2.1");
  bed.add(linux_route("192.0.2.0/24", hops(1, 4)), true);
  const auto after = owners(bed, "192.0.2.1");
  ASSERT_EQ(after.size(), before.size());
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    moved += after[i] != before[i];
    if (after[i] != before[i]) {
      EXPECT_EQ(after[i], 4);
    }
  }
  EXPECT_EQ(moved, before.size() / 4);
}

// A neighbor that does not answer gives its flows to the others, also while it is asked again.
TEST_F(EcmpReplaced, ASilentNeighborPassesItsFlowsOn) {
  constexpr uint16_t kIncomplete = 0x01, kFailed = 0x20, kReachable = 0x02;
  bed.add(linux_route("192.0.2.0/24", hops(1, 3)));
  const auto before = owners(bed, "192.0.2.1");
  const auto now = [&](uint16_t state) {
    bed.routing->neighbor({12, ip(gateway(2)), mac(2), state, state == kReachable}, false);
    return bed.verdict("192.0.2.1");
  };
  EXPECT_EQ(now(kIncomplete), "{if1 01 | if1 03 | punt glean}") << "it is asked for the first time";
  EXPECT_EQ(now(kFailed), "{if1 01 | if1 03}");
  expect_only_moved(before, owners(bed, "192.0.2.1"), 2);
  EXPECT_EQ(now(kIncomplete), "{if1 01 | if1 03}");
  EXPECT_EQ(now(kReachable), "{if1 01 | if1 02 | if1 03}");
  for (const uint8_t last : {1, 2, 3})
    bed.routing->neighbor({12, ip(gateway(last)), mac(last), kFailed, false}, false);
  EXPECT_EQ(bed.verdict("192.0.2.1"), "{punt glean}") << "the last ones are asked all the same";
}

TEST(Ecmp, WeightsBecomeBuckets) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(11, "10.0.0.2", 2);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1", 1), hop(11, "10.0.0.2", 3)}));
  auto group = bed.routing->next_hop(bed.group(ip("203.0.113.1")));
  ASSERT_TRUE(group);
  ASSERT_EQ(group->members.size(), 2u);
  double share = double(group->members[1].buckets) / group->buckets;
  EXPECT_NEAR(share, 0.75, 0.1);
}

TEST(Ecmp, NextHopMarkedDeadDropsAndLeavesEcmp) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(11, "10.0.0.2", 2);
  NextHop dead = hop(11, "10.0.0.1");
  dead.dead = true;
  bed.add(linux_route("10.1.0.0/16", {dead}));
  bed.add(linux_route("10.2.0.0/16", {dead, hop(11, "10.0.0.2")}));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "drop interface_down");
  EXPECT_EQ(bed.verdict("10.2.0.1"), "{if0 02}");
}

// tables.consistent_ecmp: routers with other pasts, and members of another order, choose alike.
class EcmpConsistent : public EcmpReplaced {
 protected:
  void SetUp() override {
    EcmpReplaced::SetUp();
    other.add_interface(0, "10.0.0.254/24");  // so that its links have other numbers
    other.add_interface(2, "10.0.1.253/24");
    for (uint8_t last = 64; last >= 1; --last) other.neighbor(13, gateway(last), last);
  }
  static std::vector<NextHop> backwards(uint8_t first, uint8_t last) {
    std::vector<NextHop> made;
    for (uint8_t i = last; i >= first; --i) made.push_back(hop(13, gateway(i)));
    return made;
  }
  void here(uint8_t first, uint8_t last) {
    bed.add(linux_route("192.0.2.0/24", hops(first, last)), true);
  }
  void there(uint8_t first, uint8_t last) {
    other.add(linux_route("192.0.2.0/24", backwards(first, last)), true);
  }
  EcmpConsistent() : EcmpReplaced(true) {}
  Bed other{512, 0, lookup::Reclaimer::none(), 100'000, true};
};

TEST_F(EcmpConsistent, TwoRoutersWithTheSameMembersChooseAlikeWhateverCameBefore) {
  here(1, 16);
  here(1, 4);
  here(3, 12);
  there(3, 12);
  EXPECT_EQ(owners(bed, "192.0.2.1"), owners(other, "192.0.2.1"));
  EXPECT_EQ(owners(bed, "192.0.2.1").size(), 1024u);
}

TEST_F(EcmpConsistent, WithoutItPastAndLinksDecide) {
  Bed one, two;
  one.add_interface(1, "10.0.1.254/24");
  two.add_interface(1, "10.0.1.253/24");
  for (Bed* each : {&one, &two})
    for (uint8_t last = 1; last <= 64; ++last) each->neighbor(12, gateway(last), last);
  one.add(linux_route("192.0.2.0/24", hops(1, 16)), true);
  one.add(linux_route("192.0.2.0/24", hops(3, 12)), true);
  two.add(linux_route("192.0.2.0/24", hops(3, 12)), true);
  EXPECT_NE(owners(one, "192.0.2.1"), owners(two, "192.0.2.1"));
}

TEST_F(EcmpConsistent, AMemberThatLeavesMovesItsFlowsAloneAndAllAgree) {
  here(1, 9);
  there(1, 9);
  const auto before = owners(bed, "192.0.2.1");
  here(1, 8);
  there(1, 8);
  expect_only_moved(before, owners(bed, "192.0.2.1"), 9);
  EXPECT_EQ(owners(bed, "192.0.2.1"), owners(other, "192.0.2.1"));
  here(1, 9);
  EXPECT_EQ(owners(bed, "192.0.2.1"), before) << "back as it was";
}

TEST_F(EcmpConsistent, AMemberWhoseLinkIsDownMovesItsFlowsAlone) {
  bed.add_interface(3, "10.0.3.254/24");
  bed.neighbor(14, "10.0.3.1", 99);
  std::vector<NextHop> all = hops(1, 4);
  all.push_back(hop(14, "10.0.3.1"));
  bed.add(linux_route("192.0.2.0/24", all), true);
  const auto before = owners(bed, "192.0.2.1");
  bed.link(3, false);
  expect_only_moved(before, owners(bed, "192.0.2.1"), 99);
  bed.link(3, true);
  EXPECT_EQ(owners(bed, "192.0.2.1"), before);
}

// Equal link-local gateways on two links are two members.
TEST_F(EcmpConsistent, TheSameGatewayOnTwoLinksIsTwoMembers) {
  bed.add_interface(3);
  bed.add_interface(4);
  bed.neighbor(14, "fe80::1", 71);
  bed.neighbor(15, "fe80::1", 72);
  bed.add(linux_route("2001:db8::/48", {hop(14, "fe80::1"), hop(15, "fe80::1")}));
  const auto found = owners(bed, "2001:db8::1");
  const auto of_one = std::count(found.begin(), found.end(), 71);
  EXPECT_GT(of_one, 400);
  EXPECT_LT(of_one, 624);
}

// More sets than the table has buckets for: they go on, unlike others, and that is said once.
TEST_F(EcmpConsistent, WhatHasNoRoomIsSaidOnceAndForwards) {
  for (int set = 0; set < 300; ++set) {
    std::vector<NextHop> two = {hop(12, gateway(static_cast<uint8_t>(1 + set % 25))),
                                hop(12, gateway(static_cast<uint8_t>(26 + set / 25)))};
    bed.add(linux_route(fmt::format("20.{}.{}.0/24", set / 200, set % 200), two));
  }
  EXPECT_EQ(
      std::count_if(bed.log.begin(), bed.log.end(),
                    [](const std::string& line) { return line.starts_with("ECMP: no room"); }),
      1);
  for (const char* each : {"20.0.0.1", "20.1.98.1", "20.1.99.1"})
    EXPECT_EQ(bed.verdict(each).substr(0, 4), "{if1") << each;
  EXPECT_EQ(owners(bed, "20.0.0.1").size(), 1024u);
  EXPECT_EQ(owners(bed, "20.1.99.1").size(), 64u);
}

}  // namespace hecto::router::test
