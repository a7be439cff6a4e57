// What a mirror comes to after overruns, and while changes fall into its dumps.
#include "tests/unit/router/linux/mirror_bed.hpp"

namespace hecto::router {
namespace {

TEST_F(Mirror, ConvergesAfterAForcedOverrun) {
  two_ports();
  start_mirror({.receive_buffer_bytes = 4096});
  batch("add", 3000);
  batch("del", 1000);
  ip("link set lan0 mtu 1300");
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().overruns, 1U);
  EXPECT_GE(mirror_->stats().resyncs, 2U);
  EXPECT_EQ(state_.find_link("lan0")->mtu, 1300U);
  EXPECT_EQ(state_.route_names(254, Family::kIpv4).size(), 2002U);
  EXPECT_TRUE(agrees());
  EXPECT_NE(std::find(state_.reasons.begin(), state_.reasons.end(),
                      "the kernel dropped netlink notifications"),
            state_.reasons.end());
}

TEST_F(Mirror, ConvergesWhenTooMuchWaitsForADump) {
  two_ports();
  batch("add", 2000);
  start_mirror({.held_limit_bytes = 1024});
  into_the_route_dump();
  batch("del", 500);
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().overruns, 1U);
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, ResyncsOnRequest) {
  two_ports();
  start_mirror();
  const uint64_t before = mirror_->stats().resyncs;
  mirror_->request_resync("asked for");
  EXPECT_TRUE(mirror_->resync_pending());
  ASSERT_TRUE(settle());
  EXPECT_EQ(mirror_->stats().resyncs, before + 1);
  EXPECT_EQ(state_.reasons.back(), "asked for");
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, KeepsUntouchedRoutesWhileChangesOverlapWithResyncs) {
  two_ports();
  batch("add", 4000);
  ip("-6 route add 2001:db8:f::/48 via 2001:db8::2");
  start_mirror();
  for (int round = 0; round < 6; ++round) {
    into_the_route_dump();
    batch("del", 300);
    ASSERT_TRUE(mirror_->process(64));
    batch("add", 300, "via 198.51.100.2 metric 5");
    ASSERT_TRUE(mirror_->process(64));
    batch("del", 300, "via 198.51.100.2 metric 5");
    batch("add", 300);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(agrees()) << round;
  }
  EXPECT_GT(mirror_->stats().held_peak_bytes, 0U);
}

// After a removal the kernel goes on in an IPv6 dump by skipping as many routes as it had shown.
TEST_F(Mirror, KeepsIpv6RoutesThatADumpSkippedOverRemovals) {
  two_ports();
  const std::string path = "/tmp/" + name_ + ".batch";
  for (const char* verb : {"add", "del"}) {
    const int count = verb[0] == 'a' ? 3000 : 500;
    std::ofstream file(path);
    for (int i = 0; i < count; ++i) {
      file << fmt::format("route {} 2001:db9:{:x}::/48 via 2001:db8::2\n", verb, i);
    }
    file.close();
    if (verb[0] == 'd') into_the_route_dump();
    ip("-6 -batch " + path);
    if (verb[0] == 'a') start_mirror();
  }
  unlink(path.c_str());
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().repeated_dumps, 1U);
  EXPECT_EQ(state_.route_names(254, Family::kIpv6), kernel_routes(Family::kIpv6));
}

TEST_F(Mirror, AHundredThousandRoutesConvergeInSmallSteps) {
  two_ports();
  batch("add", 50000);
  start_mirror();
  ASSERT_EQ(state_.route_names(254, Family::kIpv4).size(), 50002U);
  {
    const std::string path = "/tmp/" + name_ + ".batch";
    std::ofstream file(path);
    for (int i = 0; i < 50000; ++i) {
      file << fmt::format("route add 11.{}.{}.0/24 via 198.51.100.2\n", i / 256, i % 256);
    }
    file.close();
    ip("-batch " + path);
    unlink(path.c_str());
  }
  ASSERT_TRUE(settle(60000));
  EXPECT_EQ(state_.route_names(254, Family::kIpv4).size(), 100002U);
  EXPECT_LE(largest_step_, 256U + 700U);  // a budget of 256 and one read of a dump
  const auto start = std::chrono::steady_clock::now();
  mirror_->request_resync("measure");
  ASSERT_TRUE(settle(60000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("resync of 100,000 routes: %.0f ms (with the test's own model)\n",
              took.count() * 1e3);
  EXPECT_TRUE(agrees());
}

}  // namespace
}  // namespace hecto::router
