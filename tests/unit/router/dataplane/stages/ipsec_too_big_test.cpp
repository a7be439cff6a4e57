// What does not fit a tunnel when its sender may not be told.
#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

TEST_F(TwoGateways, DropsWhatDoesNotFitWhereItsSenderWasToldTooOften) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    Gateway left{1};
    left.tunnel(family);
    left.snapshot().punt_pps[static_cast<size_t>(Reason::kTooBig)] = 0;
    Frame frame =
        family == Family::kIpv4 ? ipv4_frame(from_left(1480)) : ipv6_frame(from_left6(1460));
    if (family == Family::kIpv4) {
      frame[kEthernetBytes + 6] = 0x40;  // DF
      fix_checksum(frame);
    }
    left.run({packet(frame)}, 0);
    EXPECT_EQ(left.refused(), std::vector<Reason>{Reason::kTunnelTooBig});
    EXPECT_TRUE(left.sent(0).empty());
    EXPECT_TRUE(left.sent(1).empty());
  }
}

}  // namespace
}  // namespace hecto::router::test
