// NAT through the pipeline, of one worker and of several: what leaves, with its checksums reckoned
// anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/beds/nat_bed.hpp"

namespace hecto::router::test {
namespace {

class Nat : public testing::TestWithParam<unsigned> {
 protected:
  unsigned last() const { return GetParam() - 1; }
  NatBed bed{GetParam(), NatBed::usual()};
};
INSTANTIATE_TEST_SUITE_P(Workers, Nat, testing::Values(1U, 3U));

// The frame's answer, from there to there.
Frame answer(const NatFrame& what, const Ends& seen) {
  NatFrame back = what;
  static std::string source, destination;
  source = seen.destination;
  destination = seen.source;
  back.source = source.c_str();
  back.destination = destination.c_str();
  back.source_port = what.protocol == 1 ? seen.source_port : seen.destination_port;
  back.destination_port = seen.source_port;
  if (what.protocol == 1) back.icmp_type = 0;
  back.flags = 0x12;
  return nat_frame(back);
}

TEST_P(Nat, OneToOneBothWays) {
  for (const uint8_t protocol : {1, 6, 17, 47, 132}) {
    NatFrame what{.protocol = protocol, .source = "10.1.0.77"};
    if (protocol > 17) {
      const Frame gre =
          ipv4_frame({.source = "10.1.0.77", .destination = "8.8.8.8", .protocol = protocol});
      EXPECT_EQ(ends_of(bed.through(0, 0, gre)).source, "203.0.113.77");
      continue;
    }
    const Frame sent = bed.through(0, 0, nat_frame(what));
    const Ends seen = ends_of(sent);
    EXPECT_EQ(seen.source, "203.0.113.77");
    EXPECT_EQ(seen.source_port, 4000);
    const Frame back = bed.through(last(), 1, answer(what, seen));
    EXPECT_EQ(ends_of(back).destination, "10.1.0.77");
  }
  EXPECT_EQ(bed.handed(), 0U) << "what needs no mapping is nobody's";
}

TEST_P(Nat, PoolBothWays) {
  for (const uint8_t protocol : {1, 6, 17}) {
    const NatFrame what{.protocol = protocol, .flags = 2};
    const Ends seen = ends_of(bed.through(0, 0, nat_frame(what)));
    EXPECT_TRUE(seen.source.starts_with("198.51.100.")) << seen.source;
    EXPECT_GE(seen.source_port, 1024);
    EXPECT_EQ(seen.destination, "8.8.8.8");
    for (unsigned worker = 0; worker < GetParam(); ++worker) {
      const Ends back = ends_of(bed.through(worker, 1, answer(what, seen)));
      EXPECT_EQ(back.destination, "10.0.0.1");
      EXPECT_EQ(back.destination_port, 4000);
      // Endpoint-independent: towards all, from any worker (RFC 4787 REQ-1).
      NatFrame other = what;
      other.destination = "9.9.9.9";
      const Ends again = ends_of(bed.through(worker, 0, nat_frame(other)));
      EXPECT_EQ(again.source, seen.source);
      EXPECT_EQ(again.source_port, seen.source_port);
    }
  }
  EXPECT_EQ(bed.sessions(), 3U);
}

TEST_P(Nat, WhatNobodyAskedForIsRefused) {
  const NatFrame what{.source = "8.8.8.8", .destination = "198.51.100.1"};
  const NatOutcome outcome = bed.receive(0, 1, nat_frame(what));
  EXPECT_EQ(outcome.refused, std::vector{Reason::kNatNoSession});
}

TEST_P(Nat, UdpWithoutChecksumStaysSo) {
  for (const char* source : {"10.0.0.1", "10.1.0.1"}) {
    Frame frame = nat_frame({.source = source});
    store16_be(frame.data() + kIp + 26, 0);
    const Frame sent = bed.through(0, 0, frame);
    EXPECT_EQ(load16_be(sent.data() + kIp + 26), 0);
  }
}

// Who gets no further is answered about what it sent.
TEST_P(Nat, WhatWillNotLeaveIsAsItCame) {
  NatOutcome outcome = bed.receive(0, 0, nat_frame({.ttl = 1}));
  EXPECT_EQ(outcome.refused, std::vector{Reason::kTtlExpired});
  EXPECT_EQ(bed.sessions(), 0U);
  outcome = bed.receive(0, 0, nat_frame({.payload = 1600, .flags_and_offset = kDontFragment}));
  ASSERT_EQ(outcome.sent[0].size(), 1U);
  const Frame& told = outcome.sent[0][0];
  EXPECT_EQ(ends_of(told).destination, "10.0.0.1");
  const uint8_t* const about = told.data() + kIp + 28;
  EXPECT_EQ(load32_be(about + 12), 0x0a000001U);
}

TEST_P(Nat, TooBigFromOutsideTellsOfTheOutsideAddress) {
  const NatFrame what{.payload = 1600, .flags_and_offset = kDontFragment};
  const Ends seen = ends_of(bed.through(0, 0, nat_frame({})));
  const NatOutcome outcome = bed.receive(0, 1, answer(what, seen));
  ASSERT_EQ(outcome.sent[1].size(), 1U) << outcome.refused.size();
  const Frame& told = outcome.sent[1][0];
  EXPECT_EQ(ends_of(told).destination, "8.8.8.8");
  EXPECT_EQ(ends_of(told).source, "192.0.2.1");
  EXPECT_TRUE(checksums_hold(told));
  Frame inner(told.begin() + 28, told.end());
  EXPECT_EQ(ends_of(inner).destination, seen.source);
  EXPECT_EQ(ends_of(inner).destination_port, seen.source_port);
}

// RFC 5508 §4.2.
TEST_P(Nat, ErrorsOfTheWorldReachTheirHost) {
  for (const char* source : {"10.0.0.3", "10.1.0.3"})
    for (const uint8_t protocol : {1, 6, 17})
      for (const unsigned bytes : {28U, 1000U}) {
        const Frame sent = bed.through(0, 0, nat_frame({.protocol = protocol, .source = source}));
        const Ends seen = ends_of(sent);
        const Frame error = nat_error("7.7.7.7", seen.source.c_str(), sent, 11, 0, bytes);
        const Frame got = bed.through(last(), 1, error);
        EXPECT_EQ(ends_of(got).destination, source);
        EXPECT_EQ(ends_of(got).source, "7.7.7.7");
        const Ends about = ends_of(Frame(got.begin() + 28, got.end()));
        EXPECT_EQ(about.source, source);
        EXPECT_EQ(about.source_port, 4000);
      }
}

TEST_P(Nat, ErrorsOfHostsHaveTheOutsideAddressInThem) {
  const NatFrame what{.source = "10.0.0.4"};
  const Ends seen = ends_of(bed.through(0, 0, nat_frame(what)));
  const Frame came = bed.through(0, 1, answer(what, seen));
  const Frame got = bed.through(last(), 0, nat_error("10.0.0.4", "8.8.8.8", came));
  EXPECT_EQ(ends_of(got).source, seen.source);
  const Ends about = ends_of(Frame(got.begin() + 28, got.end()));
  EXPECT_EQ(about.destination, seen.source);
  EXPECT_EQ(about.destination_port, seen.source_port);
}

// RFC 4787 REQ-9.
TEST_P(Nat, HairpinsWithTheOutsideSource) {
  const Ends of_server = ends_of(bed.through(0, 0, nat_frame({.source = "10.0.0.9"})));
  for (unsigned host = 1; host < 9; ++host) {
    const std::string source = fmt::format("10.0.0.{}", host);
    const NatOutcome outcome = bed.receive(host % GetParam(), 0,
                                           nat_frame({.source = source.c_str(),
                                                      .destination = of_server.source.c_str(),
                                                      .destination_port = of_server.source_port}));
    ASSERT_EQ(outcome.sent[0].size(), 1U) << outcome.refused.size();
    const Ends seen = ends_of(outcome.sent[0][0]);
    EXPECT_TRUE(checksums_hold(outcome.sent[0][0]));
    EXPECT_EQ(seen.destination, "10.0.0.9");
    EXPECT_EQ(seen.destination_port, 4000);
    EXPECT_TRUE(seen.source.starts_with("198.51.100.")) << seen.source;
  }
}

TEST_P(Nat, FragmentsFollowTheirFirst) {
  const Ends seen = ends_of(bed.through(0, 0, nat_frame({})));
  uint16_t id = 100;
  for (unsigned worker = 0; worker < GetParam(); ++worker) {
    ++id;
    const auto fragment = [&](bool out, uint16_t flags) {
      const std::string outside = seen.source;
      NatFrame what{.flags_and_offset = flags, .ip_id = id};
      if (out) return nat_frame(what);
      what.source = "8.8.8.8";
      what.destination = outside.c_str();
      what.source_port = 53;
      what.destination_port = seen.source_port;
      return nat_frame(what);
    };
    NatOutcome outcome = bed.receive(worker, 0, {fragment(true, 0x2000), fragment(true, 0x2005)});
    ASSERT_EQ(outcome.sent[1].size(), 2U);
    for (const Frame& frame : outcome.sent[1]) EXPECT_EQ(ends_of(frame).source, seen.source);
    outcome = bed.receive(worker, 1, {fragment(false, 0x2000), fragment(false, 0x2005)});
    ASSERT_EQ(outcome.sent[0].size(), 2U) << outcome.refused.size();
    outcome = bed.receive((worker + 1) % GetParam(), 1, fragment(false, 0x000a));
    ASSERT_EQ(outcome.sent[0].size(), 1U);
    EXPECT_EQ(ends_of(outcome.sent[0][0]).destination, "10.0.0.1");
    EXPECT_TRUE(checksums_hold(outcome.sent[0][0]));
  }
  const NatOutcome lost = bed.receive(0, 0, nat_frame({.flags_and_offset = 0x2005, .ip_id = 999}));
  EXPECT_EQ(lost.refused, std::vector{Reason::kNatFragment});
}

TEST_P(Nat, OtherProtocolsAreNotAPools) {
  const NatOutcome outcome = bed.receive(0, 0, ipv4_frame({.source = "10.0.0.1", .protocol = 47}));
  EXPECT_EQ(outcome.refused, std::vector{Reason::kNatUnknown});
}

TEST_P(Nat, BlocksAndLimitsEnd) {
  config::NatConfig nat = NatBed::usual();
  nat.pools[0].blocks_per_host = 2;  // of 64
  bed.reload(nat);
  unsigned passed = 0;
  Reason reason = Reason::kNone;
  for (uint16_t port = 1; port <= 140; ++port) {
    const NatOutcome outcome = bed.receive(0, 0, nat_frame({.source_port = port}));
    passed += static_cast<unsigned>(outcome.sent[1].size());
    if (!outcome.refused.empty()) reason = outcome.refused[0];
  }
  EXPECT_EQ(passed, 128U);
  EXPECT_EQ(reason, Reason::kNatLimit);
  // The other protocols have the same blocks.
  EXPECT_EQ(bed.receive(0, 0, nat_frame({.protocol = 6, .source_port = 1})).sent[1].size(), 1U);
  bed.set_time(2000);
  bed.expire();
  EXPECT_EQ(bed.sessions(), 0U);
  for (unsigned worker = 0; worker < GetParam(); ++worker) {
    EXPECT_EQ(bed.share(worker).blocks().used_blocks(), 0U);
    EXPECT_EQ(bed.share(worker).blocks().hosts(), 0U);
  }
  nat.pools[0].sessions_per_host = 5;
  bed.reload(nat);
  for (uint16_t port = 1; port <= 9; ++port)
    (void)bed.receive(0, 0, nat_frame({.source_port = port}));
  EXPECT_EQ(bed.sessions(), 5U);
}

TEST(NatPool, EndsWhenAllItsBlocksAreTaken) {
  config::NatConfig nat = NatBed::usual();
  nat.pools[0].addresses = {*lookup::IpPrefix::parse("198.51.100.1/32")};
  nat.pools[0].first_port = 5000;
  nat.pools[0].last_port = 5000 + 4 * 64 - 1;
  NatBed bed(1, nat);
  unsigned passed = 0;
  for (unsigned host = 1; host <= 6; ++host) {
    const std::string source = fmt::format("10.0.0.{}", host);
    const NatOutcome outcome = bed.receive(0, 0, nat_frame({.source = source.c_str()}));
    passed += static_cast<unsigned>(outcome.sent[1].size());
    if (host > 4) {
      EXPECT_EQ(outcome.refused, std::vector{Reason::kNatNoPort});
    }
  }
  EXPECT_EQ(passed, 4U);
}

TEST(NatPool, EndsWhenItHasAsManySessionsAsItMay) {
  config::NatConfig nat = NatBed::usual();
  nat.pools[0].sessions = 64;
  NatBed bed(1, nat);
  unsigned passed = 0;
  for (uint16_t port = 1; port <= 70; ++port) {
    const NatOutcome outcome = bed.receive(0, 0, nat_frame({.source_port = port}));
    passed += static_cast<unsigned>(outcome.sent[1].size());
    if (port > 64) {
      EXPECT_EQ(outcome.refused, std::vector{Reason::kNatFull});
    }
  }
  EXPECT_EQ(passed, 64U);
}

// Nobody waits for a worker whose ring is full.
TEST(NatPool, LosesByNameWhatAWorkerDoesNotTake) {
  NatBed bed(2, NatBed::usual());
  bed.clog(1);
  unsigned lost = 0, passed = 0;
  for (unsigned host = 1; host <= 40; ++host) {
    const std::string source = fmt::format("10.0.0.{}", host);
    const NatOutcome outcome = bed.receive(0, 0, nat_frame({.source = source.c_str()}));
    passed += static_cast<unsigned>(outcome.sent[1].size());
    for (const Reason reason : outcome.refused) {
      EXPECT_EQ(reason, Reason::kNatHandover);
      ++lost;
    }
  }
  EXPECT_EQ(passed + lost, 40U);
  EXPECT_GT(lost, 5U);
  EXPECT_GT(passed, 5U);
}

TEST(NatPool, FiltersByAddressWhereItIsTold) {
  config::NatConfig nat = NatBed::usual();
  nat.pools[0].filtering = config::NatFiltering::kAddressDependent;
  NatBed bed(1, nat);
  const NatFrame what{};
  const Ends seen = ends_of(bed.through(0, 0, nat_frame(what)));
  NatFrame stranger{.source = "9.9.9.9"};
  const std::string outside = seen.source;
  stranger.destination = outside.c_str();
  stranger.destination_port = seen.source_port;
  EXPECT_EQ(bed.receive(0, 1, nat_frame(stranger)).refused, std::vector{Reason::kNatNoSession});
  (void)bed.through(0, 0, nat_frame({.destination = "9.9.9.9"}));
  (void)bed.through(0, 1, nat_frame(stranger));
  (void)bed.through(0, 1, answer(what, seen));
}

// RFC 5382 §5: what a TCP connection has seen says how long it may be idle.
TEST(NatPool, TcpTimesOut) {
  NatBed bed(1, NatBed::usual());
  const auto send = [&](uint8_t flags) {
    return ends_of(bed.through(0, 0, nat_frame({.protocol = 6, .flags = flags})));
  };
  const auto receive = [&](const Ends& seen, uint8_t flags) {
    const std::string outside = seen.source;
    (void)bed.through(0, 1,
                      nat_frame({.protocol = 6,
                                 .source = "8.8.8.8",
                                 .destination = outside.c_str(),
                                 .source_port = 53,
                                 .destination_port = seen.source_port,
                                 .flags = flags}));
  };
  const auto lives = [&](uint32_t now_s) {
    bed.set_time(now_s);
    bed.expire();
    return bed.sessions() == 1;
  };
  Ends seen = send(0x02);
  receive(seen, 0x12);
  EXPECT_TRUE(lives(1240));
  EXPECT_FALSE(lives(1241)) << "half open";
  seen = send(0x02);
  receive(seen, 0x12);
  seen = send(0x10);
  EXPECT_TRUE(lives(1241 + 7440));
  receive(seen, 0x04);  // forged
  (void)send(0x10);
  EXPECT_TRUE(lives(1241 + 2 * 7440));
  (void)send(0x11);
  receive(seen, 0x11);
  EXPECT_TRUE(lives(1241 + 2 * 7440 + 240));
  EXPECT_FALSE(lives(1241 + 2 * 7440 + 241));
}

TEST(NatPool, KeepsItsSessionsWhenOthersChange) {
  NatBed bed(1, NatBed::usual());
  const NatFrame what{};
  const Ends seen = ends_of(bed.through(0, 0, nat_frame(what)));
  config::NatConfig nat = NatBed::usual();
  nat.rules.pop_back();
  nat.pools[0].udp_timeout_s = 400;
  bed.reload(nat);
  (void)bed.through(0, 1, answer(what, seen));
  nat.pools[0].block_size = 128;
  bed.reload(nat);
  EXPECT_EQ(bed.receive(0, 1, answer(what, seen)).refused, std::vector{Reason::kNatNoSession});
}

// Own addresses without a mapping are Linux's.
TEST(NatPool, SharesTheRoutersAddressWithLinux) {
  config::NatConfig nat = NatBed::usual();
  nat.pools[0].addresses = {*lookup::IpPrefix::parse("192.0.2.1/32")};
  NatBed bed(1, nat);
  const NatFrame ssh{
      .protocol = 6, .source = "8.8.8.8", .destination = "192.0.2.1", .destination_port = 22};
  EXPECT_EQ(bed.receive(0, 1, nat_frame(ssh)).refused, std::vector{Reason::kLocal});
  const NatFrame what{};
  const Ends seen = ends_of(bed.through(0, 0, nat_frame(what)));
  EXPECT_EQ(seen.source, "192.0.2.1");
  EXPECT_EQ(ends_of(bed.through(0, 1, answer(what, seen))).destination, "10.0.0.1");
}

}  // namespace
}  // namespace hecto::router::test
