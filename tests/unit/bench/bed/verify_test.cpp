// A whole bed on a small table: what its verification takes and what it names. One EAL a process.
#include "bench/bed/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "bench/bed/gre_tunnels.hpp"
#include "bench/ipsec/cases.hpp"
#include "bench/ipsec/verify.hpp"
#include "bench/lib/synthetic_table.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

using testing::HasSubstr;

constexpr unsigned kDestinations = 1024;

BedOptions small_bed(const Folder& folder) {
  std::ofstream table(folder / "table.txt");
  for (const auto& prefix : router::synthetic_prefixes(1, 0.002))
    table << prefix.to_string() << "\n";
  table.close();
  BedOptions options;
  options.table = folder / "table.txt";
  options.destinations = kDestinations;
  options.counters = true;
  options.frames = {{}, {.cache = PacketCache::kL2}, {.sizes = {64, 590, 1514}, .copied = true}};
  return options;
}

// A packet as it has gone into the tunnel to the third host of out1, and each of its fields spoiled.
TEST(GreFronts, AreHeldAgainstTheTunnelThatTheRouteNames) {
  const std::array<uint8_t, 12> macs{};
  constexpr uint16_t kInside = 64;
  constexpr size_t kOuterIp = kEthernetBytes, kGreAt = kOuterIp + kIpv4Bytes;
  const MacAddress neighbor = {0x02, 0, 0, 1, 1, 3};
  const auto complaint = [&](size_t spoiled, bool right_checksum = true) {
    const auto front = gre_front(macs, kInside, true);
    std::vector<uint8_t> frame(front.begin(), front.end());
    frame.resize(kInside + kOuterBytes);
    frame[kGreFront] = 0x45;
    const uint8_t ends[] = {100, 64, 1, 254, 100, 64, 1, 3};
    std::copy(std::begin(ends), std::end(ends), &frame[kOuterIp + 12]);
    if (spoiled != 0) frame[spoiled] ^= 0x40;
    uint8_t* const ip = &frame[kOuterIp];
    store16_be(ip + 10, 0);
    if (right_checksum) store16_be(ip + 10, checksum_by_definition({ip, kIpv4Bytes}));
    return wrong_gre_front(frame, 1, neighbor).value_or("");
  };
  EXPECT_EQ(complaint(0), "");
  EXPECT_THAT(complaint(0, false), HasSubstr("outer checksum"));
  EXPECT_THAT(complaint(kOuterIp + 3), HasSubstr("outer length"));
  for (const size_t at : {size_t{6}, size_t{8}})
    EXPECT_THAT(complaint(kOuterIp + at), HasSubstr("outer TTL, or no DF"));
  for (const size_t at : {size_t{9}, size_t{0}})
    EXPECT_THAT(complaint(kOuterIp + at), HasSubstr("not in GRE"));
  for (const size_t at : {15, 19})
    EXPECT_THAT(complaint(kOuterIp + static_cast<size_t>(at)), HasSubstr("another tunnel"));
  for (const size_t at : {size_t{0}, size_t{2}, size_t{3}})
    EXPECT_THAT(complaint(kGreAt + at), HasSubstr("GRE header"));
}

// One for all tests.
class BedVerification : public testing::Test {
 protected:
  static void SetUpTestSuite() {
#ifndef __SANITIZE_THREAD__
    static const Folder folder;
    auto made = Bed::create(small_bed(folder));
    ASSERT_TRUE(made) << made.error().message;
    bed = std::move(*made);
#endif
  }
  static void TearDownTestSuite() {
    bed.reset();
  }
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "DPDK is not built for ThreadSanitizer";
#endif
    bed->select_frames(0);
    bed->set_burst(64);
    bed->replay(0).select(Traffic::kIpv4);
  }

  static Result<void> verify(Verifier& verifier) {
    bed->replay(0).settle();
    router::Worker& worker = bed->router().dataplane().worker(0);
    return verifier.run(kDestinations, [&worker] { return worker.poll_once(); });
  }
  // With what is done to each packet before the verification sees it.
  static std::string complaint_about(rte_tx_callback_fn tamper) {
    const auto* first = rte_eth_add_tx_callback(bed->out()[0], 0, tamper, nullptr);
    const auto* second = rte_eth_add_tx_callback(bed->out()[1], 0, tamper, nullptr);
    Verifier verifier(*bed);
    const auto done = verify(verifier);
    rte_eth_remove_tx_callback(bed->out()[0], 0, first);
    rte_eth_remove_tx_callback(bed->out()[1], 0, second);
    return done ? "" : done.error().message;
  }

  static inline std::unique_ptr<Bed> bed;
};

TEST_F(BedVerification, TakesEveryKindOfBothFamiliesInBurstsOfAllSizes) {
  Verifier verifier(*bed);
  uint64_t least = 0;
  for (const size_t kind : {0, 1, 2})
    for (const unsigned burst : {4u, 8u, 64u})
      for (const Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6}) {
        bed->select_frames(kind);
        bed->set_burst(burst);
        bed->replay(0).select(traffic);
        const auto done = verify(verifier);
        EXPECT_TRUE(done) << kind << " " << burst << ": " << done.error().message;
        least += kDestinations;
      }
  EXPECT_GE(verifier.verified(), least);
  EXPECT_TRUE(bed->all_forwarded());
}

TEST_F(BedVerification, NamesAHopThatWasNotCounted) {
  EXPECT_THAT(complaint_about([](uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, void*) {
                ++rte_pktmbuf_mtod(packets[count - 1], uint8_t*)[22];
                return count;
              }),
              HasSubstr(" has TTL "));
}

TEST_F(BedVerification, NamesABrokenPayload) {
  EXPECT_THAT(complaint_about([](uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, void*) {
                rte_pktmbuf_mtod(packets[0], uint8_t*)[60] ^= 0x80;
                return count;
              }),
              HasSubstr(" differs in payload byte 26: "));
}

// Spoiled behind the mark, so that the router refuses the packet.
TEST_F(BedVerification, MissesWhatDoesNotComeOut) {
  Verifier verifier(*bed);
  const auto* spoil = rte_eth_add_rx_callback(
      bed->in(0), 0,
      [](uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t, void*) {
        rte_pktmbuf_mtod(packets[count - 1], uint8_t*)[24] ^= 1;
        return count;
      },
      nullptr);
  const auto done = verify(verifier);
  rte_eth_remove_rx_callback(bed->in(0), 0, spoil);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              HasSubstr("1024 went in, 1008 came out right, 16 not at all; the first: to "));
}

TEST_F(BedVerification, NamesWhatCameOutTwice) {
  EXPECT_THAT(complaint_about([](uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, void*) {
                if (count > 1)
                  std::memcpy(rte_pktmbuf_mtod(packets[1], void*),
                              rte_pktmbuf_mtod(packets[0], void*), 64);
                return count;
              }),
              HasSubstr("a packet came out that never went in, or twice"));
}

// The router learns of a route that the table has not: a look-up that goes wrong.
TEST_F(BedVerification, NamesAPacketThatWentAnotherWay) {
  config::RouteConfig route;
  const uint32_t host = bed->destinations().ipv4[0].address_be;
  lookup::IpPrefix to;
  to.address.family = lookup::Family::kIpv4;
  std::memcpy(to.address.bytes.data(), &host, 4);
  to.length = 32;
  route.to = to;
  route.via.push_back({*lookup::IpAddress::parse("100.64.0.31"), "", 1});
  auto& routes = bed->router().routes();
  ASSERT_TRUE(routes.add(route, RouteOrigin::kApi));
  bed->router().routing().commit();
  Verifier verifier(*bed);
  const auto done = verify(verifier);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("the packet to " + to.address.to_string() + " "));
  EXPECT_THAT(done.error().message,
              testing::AnyOf(HasSubstr("left by out0, not out1"),
                             HasSubstr("goes to MAC 02:00:00:01:00:1f, not")));
  ASSERT_TRUE(routes.remove(route.to, 0, RouteOrigin::kApi));
  bed->router().routing().commit();
}

// What was put in comes out after as many others as the ring has.
TEST_F(BedVerification, RingGivesPacketsInOrderAfterAllThatWait) {
  rte_mempool* pool = bed->pool(0);
  const unsigned before = rte_mempool_in_use_count(pool);
  {
    PacketRing ring;
    ring.resize(pool, 4096);
    unsigned written = 0;
    ring.rewrite([&written](rte_mbuf** packets, uint16_t count) {
      for (uint16_t i = 0; i < count; ++i) {
        *rte_pktmbuf_mtod(packets[i], uint32_t*) = written++;
        packets[i]->data_len = 99;
      }
    });
    EXPECT_EQ(written, 4096u);
    for (uint32_t turn = 0; turn < 2 * 4096 / 64; ++turn) {
      rte_mbuf* packets[64];
      ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, packets, 64), 0);
      for (uint32_t i = 0; i < 64; ++i) {
        *rte_pktmbuf_mtod(packets[i], uint32_t*) = 4096 + turn * 64 + i;
        packets[i]->data_len = 77;
      }
      ring.exchange(packets, 64);
      for (uint32_t i = 0; i < 64; ++i) {
        ASSERT_EQ(*rte_pktmbuf_mtod(packets[i], uint32_t*), turn * 64 + i);
        ASSERT_EQ(packets[i]->pkt_len, turn < 64 ? 99u : 77u);
      }
      rte_pktmbuf_free_bulk(packets, 64);
    }
  }
  EXPECT_EQ(rte_mempool_in_use_count(pool), before);
}

// What packets go to hosts behind four tunnels, from a ring.
class TunnelBed {
 public:
  explicit TunnelBed(Bed& bed) : bed_(bed), ends_(*far_ends(bed, 4)), plain_(bed.destinations()) {
    static const bool routed = add_private_routes(bed).has_value();
    EXPECT_TRUE(routed);
    bed.set_destinations(replay_destinations(hosts_behind(4, kDestinations), plain_.ipv6));
    bed.select_frames(1);
  }
  ~TunnelBed() { bed_.set_destinations(plain_); }
  std::unique_ptr<Tunnels> tunnels(const std::string& algorithm) {
    auto made = Tunnels::create(bed_, *ipsec_transform(algorithm), ends_);
    return made ? std::move(*made) : nullptr;
  }

 private:
  Bed& bed_;
  std::vector<router::IpAddress> ends_;
  ReplayDestinations plain_;
};

TEST_F(BedVerification, TakesBothDirectionsOfTunnels) {
  TunnelBed tunnel_bed(*bed);
  for (const std::string& algorithm : ipsec_algorithms()) {
    const auto four = tunnel_bed.tunnels(algorithm);
    ASSERT_NE(four, nullptr);
    const auto out = verify_encap(*bed, *four);
    EXPECT_TRUE(out) << algorithm << ": " << out.error().message;
    const auto frames = *four->frames({64, 1400});
    bed->replay(0).select_whole(&frames);
    const auto in = verify_decap(*bed, frames);
    bed->replay(0).select_whole(nullptr);
    EXPECT_TRUE(in) << algorithm << ": " << in.error().message;
  }
}

TEST_F(BedVerification, NamesWhatLeftInClear) {
  TunnelBed tunnel_bed(*bed);
  const auto four = tunnel_bed.tunnels("aes-128-gcm");
  const Tunnel second = *four->by_spi(0x10002);
  ASSERT_TRUE(bed->router().ipsec().remove_policy(second.policy(PolicyDirection::kOut)));
  apply(*bed);
  const auto out = verify_encap(*bed, *four);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().message, HasSubstr("the packet to 10.0.1."));
  EXPECT_THAT(out.error().message, HasSubstr(" left in clear"));
}

TEST_F(BedVerification, NamesAContentThatIsAnother) {
  TunnelBed tunnel_bed(*bed);
  const auto four = tunnel_bed.tunnels("aes-128-gcm");
  // The far end's packet is another than the one that is expected of it.
  const Tunnel first = *four->by_spi(0x10000);
  auto sa = router::esp::Sa::create(first.inbound());
  auto far_end = FarEnd::create();
  ASSERT_TRUE(sa && far_end);
  WholeFrames others;
  (*far_end)->send(**sa, 0, 200, others);
  auto inner = inner_packet(0, 200);
  inner[150] ^= 1;
  (*far_end)->send(**sa, inner, others);
  bed->replay(0).select_whole(&others);
  const auto in = verify_decap(*bed, others);
  bed->replay(0).select_whole(nullptr);
  ASSERT_FALSE(in);
  EXPECT_THAT(in.error().message, HasSubstr("differs in payload byte 130"));
}

}  // namespace
}  // namespace hecto::bench
