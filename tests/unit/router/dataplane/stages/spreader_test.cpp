// Packets of one receive queue go over workers: each flow to one of them, in order.
#include "router/dataplane/stages/spreader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/port_spread.hpp"
#include "router/dataplane/stages/spread_key.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

constexpr unsigned kPayload4 = kIp + kIpv4Bytes, kPayload6 = kIp + kIpv6Bytes;

uint32_t key_of(const Frame& frame, uint32_t rss = 0) {
  pool();  // DPDK
  rte_mbuf* const made = packet(frame);
  if (rss != 0) {
    made->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
    made->hash.rss = rss;
  }
  const uint32_t key = spread_key(made);
  rte_pktmbuf_free(made);
  return key;
}

Frame with_ports(Frame frame, uint16_t source, uint16_t destination) {
  const unsigned at = load16_native(&frame[12]) == kEtherIpv4 ? kPayload4 : kPayload6;
  store16_be(&frame[at], source);
  store16_be(&frame[at + 2], destination);
  return frame;
}
Frame flow4(const char* source, const char* destination, uint16_t sport, uint16_t dport,
            uint16_t vlan = 0) {
  FrameOptions options;
  options.source = source;
  options.destination = destination;
  Frame frame = with_ports(ipv4_frame(options), sport, dport);
  if (vlan == 0) return frame;
  const uint8_t tag[] = {0x81, 0, 0, static_cast<uint8_t>(vlan)};
  frame.insert(frame.begin() + 12, tag, tag + sizeof tag);
  return frame;
}
Frame flow6(const char* source, const char* destination, uint16_t sport, uint16_t dport) {
  FrameOptions options;
  options.source = source;
  options.destination = destination;
  return with_ports(ipv6_frame(options), sport, dport);
}
// `frame`'s IP packet within another one.
Frame in_tunnel(const Frame& frame, uint8_t protocol, const Frame& between = {}) {
  FrameOptions options;
  options.protocol = protocol;
  options.payload_bytes = static_cast<uint16_t>(frame.size() - kIp + between.size());
  Frame outer = ipv4_frame(options);
  outer.resize(kPayload4);
  outer.insert(outer.end(), between.begin(), between.end());
  outer.insert(outer.end(), frame.begin() + kIp, frame.end());
  return outer;
}
Frame gre(unsigned flags, uint16_t ether_type_be, size_t options_bytes) {
  Frame header(4 + options_bytes, 0xee);
  store16_be(header.data(), flags);
  std::memcpy(&header[2], &ether_type_be, 2);
  return header;
}
Frame esp(uint32_t spi) {
  FrameOptions options;
  options.protocol = 50;
  Frame frame = ipv4_frame(options);
  store32_be(&frame[kPayload4], spi);
  return frame;
}

const char kA[] = "198.51.100.2", kB[] = "203.0.113.9";
const char kA6[] = "2001:db8:1::2", kB6[] = "2001:db8:2::9";

TEST(SpreadKey, IsAFlowsInBothDirections) {
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kB, kA, 80, 1000)));
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, kB, 1000, 80, 5)));
  EXPECT_NE(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, kB, 1001, 80)));
  EXPECT_NE(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, "203.0.113.10", 1000, 80)));
  EXPECT_EQ(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kB6, kA6, 80, 1000)));
  EXPECT_NE(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kA6, kB6, 1000, 81)));
  EXPECT_NE(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kA6, "2001:db8:2::a", 1000, 80)));
}

// Payload and TTL are not the flow's.
TEST(SpreadKey, IsOfHeadersOnly) {
  Frame other = flow4(kA, kB, 1000, 80);
  other[kIp + 8] = 7;
  other.back() ^= 0xff;
  EXPECT_EQ(key_of(other), key_of(flow4(kA, kB, 1000, 80)));
}

// The first fragment has ports, the others have data in their place.
TEST(SpreadKey, IsTheSameForAllFragmentsOfADatagram) {
  Frame first = flow4(kA, kB, 1000, 80), middle = flow4(kA, kB, 0xabcd, 0x1234), last = middle;
  store16_be(&first[kIp + 6], 0x2000);
  store16_be(&middle[kIp + 6], 0x2000 | 4);
  store16_be(&last[kIp + 6], 8);
  EXPECT_EQ(key_of(first), key_of(middle));
  EXPECT_EQ(key_of(first), key_of(last));
  EXPECT_EQ(key_of(first, 77), key_of(last, 78)) << "not by RSS";
  Frame first6 = flow6(kA6, kB6, 1000, 80), last6 = flow6(kA6, kB6, 3, 4);
  first6[kIp + 6] = last6[kIp + 6] = 44;
  EXPECT_EQ(key_of(first6), key_of(last6));
  EXPECT_EQ(key_of(first6, 77), key_of(last6, 78));
}

TEST(SpreadKey, IsTheNicsWhereItSeesTheFlow) {
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80), 77), 77u);
  EXPECT_EQ(key_of(flow6(kA6, kB6, 1000, 80), 77), 77u);
  EXPECT_NE(key_of(esp(1), 77), key_of(esp(2), 77));
}

TEST(SpreadKey, OfEspIsTheSas) {
  Frame later = esp(0x1000);
  store32_be(&later[kPayload4 + 4], 99);  // its number
  EXPECT_EQ(key_of(esp(0x1000)), key_of(later));
  EXPECT_NE(key_of(esp(0x1000)), key_of(esp(0x1001)));
}

// Of UDP by 4500 nobody knows whether it is ESP: its data are never the flow's.
TEST(SpreadKey, OfUdpIsThatOfItsPortsWhateverTheyAre) {
  for (const auto& [from, to] :
       {std::pair<uint16_t, uint16_t>{4500, 4500}, {4500, 53}, {40000, 4500}}) {
    const Frame flow = flow4(kA, kB, from, to);
    Frame later = flow;
    store32_be(&later[kPayload4 + 8], 0xabcdef);
    EXPECT_EQ(key_of(flow), key_of(later)) << from << " " << to;
    EXPECT_EQ(key_of(flow), key_of(flow4(kB, kA, to, from)));
    EXPECT_NE(key_of(flow), key_of(flow4(kA, kB, from, static_cast<uint16_t>(to + 1))));
    EXPECT_EQ(key_of(later, 77), 77u);
  }
}

TEST(SpreadKey, OfATunnelIsThatOfWhatIsInside) {
  const Frame one = flow4(kA, kB, 1000, 80), two = flow4(kA, kB, 1001, 80);
  const Frame one6 = flow6(kA6, kB6, 1000, 80);
  EXPECT_EQ(key_of(in_tunnel(one, 4), 77), key_of(one));
  EXPECT_EQ(key_of(in_tunnel(two, 4), 77), key_of(two));
  EXPECT_EQ(key_of(in_tunnel(one6, 41)), key_of(one6));
  for (const auto& [flags, bytes] :
       {std::pair(0u, 0u), {0x8000u, 4u}, {0x2000u, 4u}, {0xa000u, 8u}}) {
    EXPECT_EQ(key_of(in_tunnel(one, 47, gre(flags, kEtherIpv4, bytes)), 77), key_of(one)) << flags;
    EXPECT_EQ(key_of(in_tunnel(one6, 47, gre(flags, kEtherIpv6, bytes))), key_of(one6)) << flags;
  }
  // With numbers, PPTP's version, and what is not IP: by addresses.
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(0x1000, kEtherIpv4, 4))),
            key_of(in_tunnel(two, 47, gre(0x1000, kEtherIpv4, 4))));
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(1, kEtherIpv4, 0))),
            key_of(in_tunnel(two, 47, gre(1, kEtherIpv4, 0))));
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(0, 0x5865, 0))),
            key_of(in_tunnel(two, 47, gre(0, 0x5865, 0))));
  // Not deeper than one.
  EXPECT_EQ(key_of(in_tunnel(in_tunnel(one, 4), 4)), key_of(in_tunnel(in_tunnel(two, 4), 4)));
}

// Behind the IP header by its addresses, within an inner one not at all.
TEST(SpreadKey, OfWhatIsCutIsThatOfWhatIsThere) {
  const auto cut = [](Frame frame, size_t behind_ip) {
    frame.resize(kPayload4 + behind_ip);
    return key_of(frame);
  };
  const Frame one = flow4(kA, kB, 1, 2), two = flow4(kA, kB, 3, 4);
  EXPECT_EQ(cut(one, 3), cut(two, 3));
  EXPECT_NE(cut(one, 4), cut(two, 4));
  EXPECT_EQ(cut(esp(1), 3), cut(esp(2), 3));
  EXPECT_NE(cut(esp(1), 3), 0u);
  const Frame in_gre = in_tunnel(one, 47, gre(0x8000, kEtherIpv4, 4));
  EXPECT_EQ(cut(in_gre, 3), cut(in_gre, 7));
  EXPECT_NE(cut(in_gre, 7), 0u);
  EXPECT_EQ(cut(in_gre, 8 + 19), 0u);
  EXPECT_EQ(cut(in_tunnel(one, 4), 19), 0u);
  EXPECT_EQ(cut(in_tunnel(one, 4), 20 + 3), cut(in_tunnel(two, 4), 20 + 3));
}

// Cut anywhere, and with any bytes: nothing behind the end is read (with ASan it would show).
TEST(SpreadKey, IsBoundByTheFirstSegment) {
  const std::vector<Frame> frames = {
      flow4(kA, kB, 1, 2),
      flow6(kA6, kB6, 1, 2),
      esp(5),
      in_tunnel(flow4(kA, kB, 1, 2), 47, gre(0xb000, kEtherIpv4, 12)),
      in_tunnel(flow6(kA6, kB6, 1, 2), 41),
      flow4(kA, kB, 4500, 4500)};
  for (const Frame& frame : frames)
    for (size_t bytes = 0; bytes <= frame.size(); ++bytes) {
      const std::unique_ptr<uint8_t[]> cut(new uint8_t[bytes]);
      std::memcpy(cut.get(), frame.data(), bytes);
      rte_mbuf made{};
      made.buf_addr = cut.get();
      made.data_len = static_cast<uint16_t>(bytes);
      const uint32_t key = spread_key(&made);
      if (bytes < kPayload4) {
        EXPECT_EQ(key, 0u) << bytes;
      }
    }
  Frame arp = flow4(kA, kB, 1, 2);
  std::memcpy(&arp[12], &kEtherArp, 2);
  EXPECT_EQ(key_of(arp), 0u);
}

// A head and two workers, of which nothing runs.
class SpreaderTest : public testing::Test {
 protected:
  static constexpr unsigned kRing = 256;
  SpreaderTest() {
    pool();  // DPDK
    for (unsigned lane = 0; lane < 2; ++lane) {
      rings_[lane] = rte_ring_create(("spreader-" + std::to_string(lane)).c_str(), kRing,
                                     SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
      table_.lanes[lane].ring = rings_[lane];
    }
    table_.lane_count = 2;
    table_.lane_of = equal_buckets(2);
  }
  ~SpreaderTest() override {
    for (unsigned lane = 1; lane <= 2; ++lane) take(lane);
    for (rte_ring* ring : rings_) rte_ring_free(ring);
  }

  void run(const std::vector<Frame>& frames) {
    chunk_->count = static_cast<unsigned>(frames.size());
    for (unsigned i = 0; i < frames.size(); ++i) chunk_->packets[i] = packet(frames[i]);
    spreader_->run(table_, *chunk_);
  }
  // Source ports of what is there, in order; freed. 0: what the head kept.
  std::vector<uint16_t> take(unsigned lane) {
    std::vector<uint16_t> ports;
    const auto read = [&](rte_mbuf* made) {
      ports.push_back(load16_be(rte_pktmbuf_mtod(made, const uint8_t*) + kPayload4));
      rte_pktmbuf_free(made);
    };
    if (lane == 0) {
      for (unsigned i = 0; i < chunk_->count; ++i) read(chunk_->packets[i]);
      chunk_->count = 0;
      return ports;
    }
    void* made = nullptr;
    while (rte_ring_sc_dequeue(rings_[lane - 1], &made) == 0) read(static_cast<rte_mbuf*>(made));
    return ports;
  }

  std::array<rte_ring*, 2> rings_{};
  SpreadTable table_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  std::unique_ptr<Spreader> spreader_ = std::make_unique<Spreader>();
};

TEST_F(SpreaderTest, SendsEachFlowToOneWorkerInOrder) {
  constexpr unsigned kFlows = 48, kRounds = 5;
  std::map<unsigned, std::set<unsigned>> lanes_of;
  std::map<unsigned, std::vector<unsigned>> numbers;
  for (unsigned round = 0; round < kRounds; ++round) {
    std::vector<Frame> frames;
    for (unsigned flow = 0; flow < kFlows; ++flow)
      for (unsigned twice = 0; twice < 2; ++twice) {
        Frame frame = flow4(kA, kB, static_cast<uint16_t>(1000 + flow), 80);
        frame[kPayload4 + 8] = static_cast<uint8_t>(2 * round + twice);
        frames.push_back(frame);
      }
    run(frames);
    EXPECT_EQ(chunk_->refused_count, 0u);
    unsigned all = 0;
    const auto see = [&](unsigned lane, rte_mbuf* made) {
      const uint8_t* const frame = rte_pktmbuf_mtod(made, const uint8_t*);
      const unsigned flow = load16_be(frame + kPayload4) - 1000u;
      lanes_of[flow].insert(lane);
      numbers[flow].push_back(frame[kPayload4 + 8]);
      rte_pktmbuf_free(made);
      ++all;
    };
    for (unsigned i = 0; i < chunk_->count; ++i) see(0, chunk_->packets[i]);
    for (unsigned lane = 1; lane <= 2; ++lane) {
      void* made = nullptr;
      while (rte_ring_sc_dequeue(rings_[lane - 1], &made) == 0)
        see(lane, static_cast<rte_mbuf*>(made));
    }
    EXPECT_EQ(all, kFlows * 2);
  }
  std::set<unsigned> used;
  for (const auto& [flow, lanes] : lanes_of) {
    EXPECT_EQ(lanes.size(), 1u) << flow;
    used.insert(lanes.begin(), lanes.end());
    EXPECT_TRUE(std::is_sorted(numbers[flow].begin(), numbers[flow].end())) << flow;
    EXPECT_EQ(numbers[flow].size(), kRounds * 2);
  }
  EXPECT_EQ(used.size(), 3u) << "all workers have some";
}

// Of 65,536 random flows no worker has a tenth more than its share.
TEST_F(SpreaderTest, WorkersHaveEqualShares) {
  std::mt19937 random(test_seed());
  std::array<unsigned, 3> counts{};
  Frame frame = flow4(kA, kB, 0, 80);
  rte_mbuf made{};
  made.buf_addr = frame.data();
  made.data_len = static_cast<uint16_t>(frame.size());
  for (unsigned i = 0; i < 65536; ++i) {
    store32_be(&frame[kIp + 12], random());
    store32_be(&frame[kIp + 16], random());
    ++counts[table_.lane_of[spread_bucket(spread_key(&made))]];
  }
  for (const unsigned count : counts) EXPECT_NEAR(count, 65536 / 3.0, 65536 / 30.0);
}

TEST_F(SpreaderTest, RefusesByNameWhatARingHasNoRoomFor) {
  table_.lane_of.fill(1);
  const std::vector<Frame> frames(200, flow4(kA, kB, 7, 80));
  run(frames);
  EXPECT_EQ(chunk_->refused_count, 0u);
  run(frames);
  EXPECT_EQ(chunk_->count, 0u);
  ASSERT_EQ(chunk_->refused_count, 2 * 200 - (kRing - 1));
  for (unsigned i = 0; i < chunk_->refused_count; ++i) {
    EXPECT_EQ(chunk_->refused[i].reason, Reason::kSpreadFull);
    rte_pktmbuf_free(chunk_->refused[i].packet);
  }
  EXPECT_EQ(take(1).size(), kRing - 1);
  EXPECT_TRUE(take(2).empty());
}

TEST_F(SpreaderTest, KeepsAllWhereAllBucketsAreTheHeads) {
  table_.lane_of.fill(0);
  run({flow4(kA, kB, 1, 80), flow4(kA, kB, 2, 80), flow4(kA, kB, 3, 80)});
  EXPECT_EQ(take(0), (std::vector<uint16_t>{1, 2, 3}));
}

// Who waits for a ring hears of what is put there, nobody else.
TEST_F(SpreaderTest, WakesWhoHasSomething) {
  std::array<Wakeup, 2> wakeups;
  for (unsigned lane = 0; lane < 2; ++lane) {
    table_.lanes[lane].owner = &wakeups[lane];
    wakeups[lane].begin();
  }
  table_.lane_of.fill(2);
  run({flow4(kA, kB, 1, 80)});
  const auto waits = [](Wakeup& wakeup, std::chrono::milliseconds longest) {
    const auto since = std::chrono::steady_clock::now();
    wakeup.wait(longest);
    return std::chrono::steady_clock::now() - since;
  };
  EXPECT_LT(waits(wakeups[1], std::chrono::seconds(20)), std::chrono::seconds(10));
  EXPECT_GE(waits(wakeups[0], std::chrono::milliseconds(30)), std::chrono::milliseconds(30));
}

// Workers that drain while the head fills: nothing is lost but what is refused, and all come in order.
TEST_F(SpreaderTest, FillsRingsThatOthersDrain) {
  constexpr unsigned kRounds = 50, kPackets = 1024, kBurst = 32;
  const auto number_at = [](rte_mbuf* made) {
    return rte_pktmbuf_mtod(made, uint8_t*) + kPayload4 + 8;
  };
  std::atomic<bool> done{false};
  std::atomic<unsigned> returned{0};
  std::array<std::vector<uint32_t>, 2> came;
  std::vector<std::thread> workers;
  for (unsigned lane = 0; lane < 2; ++lane)
    workers.emplace_back([&, lane] {
      for (;;) {
        const bool last = done.load(std::memory_order_acquire);
        void* made[kBurst];
        const unsigned count = rte_ring_sc_dequeue_burst(rings_[lane], made, kBurst, nullptr);
        for (unsigned i = 0; i < count; ++i)
          came[lane].push_back(load32_be(number_at(static_cast<rte_mbuf*>(made[i]))));
        returned.fetch_add(count, std::memory_order_release);
        if (count == 0 && last) return;
      }
    });
  std::vector<rte_mbuf*> all;
  for (unsigned i = 0; i < kPackets; ++i)
    all.push_back(packet(flow4(kA, kB, static_cast<uint16_t>(i), 9)));
  uint32_t number = 0;
  unsigned kept = 0, refused = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned from = 0; from < kPackets; from += kBurst) {
      chunk_->count = kBurst;
      for (unsigned i = 0; i < kBurst; ++i) {
        chunk_->packets[i] = all[from + i];
        store32_be(number_at(all[from + i]), number++);
      }
      spreader_->run(table_, *chunk_);
      kept += chunk_->count;
      refused += chunk_->refused_count;
    }
    while (kept + refused + returned.load(std::memory_order_acquire) < number)
      std::this_thread::yield();
  }
  done.store(true, std::memory_order_release);
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(kept + refused + came[0].size() + came[1].size(), kRounds * kPackets);
  for (const auto& numbers : came) {
    EXPECT_FALSE(numbers.empty());
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
  for (rte_mbuf* made : all) rte_pktmbuf_free(made);
}

}  // namespace
}  // namespace hecto::router::test
