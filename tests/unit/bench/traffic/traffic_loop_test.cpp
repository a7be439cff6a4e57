// The generator over DPDK ports in memory: net_ring gives back what is sent to it, in order, and a
// receive callback does to it what networks do.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "bench/generate/report.hpp"
#include "bench/traffic/station.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "tests/unit/bench/lib/folder.hpp"
#include "tests/unit/bench/traffic/loop_bed.hpp"

namespace hecto::bench {
namespace {

// What happens on the way. DPDK keeps the callbacks until the port closes.
struct Network {
  unsigned drop_every = 0, swap_every = 0, copy_every = 0;
  unsigned dropped = 0, swapped = 0, copied = 0, count = 0;

  Network() : callback_(rte_eth_add_rx_callback(0, 0, work, this)) {}
  ~Network() { rte_eth_remove_rx_callback(0, 0, callback_); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

 private:
  static uint16_t work(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                       void* self) {
    return static_cast<Network*>(self)->pass(packets, count);
  }
  uint16_t pass(rte_mbuf** packets, uint16_t count_now) {
    uint16_t kept = 0;
    for (uint16_t i = 0; i < count_now; ++i) {
      ++count;
      if (drop_every != 0 && count % drop_every == 0) {
        ++dropped;
        rte_pktmbuf_free(packets[i]);
        continue;
      }
      packets[kept++] = packets[i];
      if (swap_every != 0 && count % swap_every == 0 && kept >= 2) {
        ++swapped;
        std::swap(packets[kept - 1], packets[kept - 2]);
      }
    }
    // Whole again, instead of one that follows: the same buffer twice would be freed twice.
    if (copy_every != 0 && kept >= 2) {
      ++copied;
      ++dropped;
      std::memcpy(rte_pktmbuf_mtod(packets[1], void*), rte_pktmbuf_mtod(packets[0], void*), 60);
    }
    return kept;
  }
  const rte_eth_rxtx_callback* callback_;
};

TEST_F(TrafficLoop, CountsEveryPacketOfEveryStream) {
  StreamSpec vlan = stream("vlan");
  vlan.vlan = 42;
  vlan.weight = 2;
  StreamSpec mixed = stream("mixed", lookup::Family::kIpv6);
  mixed.sizes = {{64, 1}, {200, 1}};
  const TrialResult result = run({stream("v4"), vlan, stream("v6", lookup::Family::kIpv6), mixed},
                                 {.pps = 200e3, .seconds = 0.1, .settle_seconds = 1});
  ASSERT_EQ(result.streams.size(), 4u);
  EXPECT_GT(result.sent, 0u);
  EXPECT_LE(result.offered(), result.wanted + 4);
  EXPECT_EQ(result.foreign, 0u);
  EXPECT_FALSE(result.interrupted);
  uint64_t sent = 0;
  for (const StreamResult& s : result.streams) {
    sent += s.sent;
    EXPECT_GT(s.sent, 0u) << s.name;
    EXPECT_EQ(s.received, s.sent) << s.name;
    EXPECT_EQ(s.duplicated + s.reordered, 0u) << s.name;
    EXPECT_EQ(s.latency_ns.count(), s.sent) << s.name;
    EXPECT_EQ(s.jitter_ns.count(), s.sent - 1) << s.name;
    EXPECT_LT(s.latency_ns.quantile(0.5), 1'000'000'000u) << s.name;
  }
  EXPECT_EQ(result.sent, sent);
  EXPECT_EQ(result.streams[1].name, "vlan");
  EXPECT_GT(result.sent_bytes, result.sent * 64);
}

TEST_F(TrafficLoop, GoesAsFastAsThePortTakesIt) {
  const TrialResult result = run({stream("a"), stream("b")}, {.pps = 0, .seconds = 0.05});
  EXPECT_EQ(result.wanted, result.sent);
  EXPECT_EQ(result.received, result.sent);
  EXPECT_EQ(result.refused, 0u);
  EXPECT_EQ(shortfall(result, 0), "");
}

TEST_F(TrafficLoop, FindsWhatTheNetworkDid) {
  Network network;
  network.drop_every = 10;
  network.swap_every = 7;
  TrialResult result = run({stream("s")}, {.pps = 0, .seconds = 0.02});
  EXPECT_EQ(result.sent - result.received, network.dropped);
  EXPECT_EQ(result.streams[0].lost(), network.dropped);
  EXPECT_EQ(result.streams[0].reordered, network.swapped);
  EXPECT_EQ(result.streams[0].duplicated, 0u);

  network.drop_every = network.swap_every = network.dropped = 0;
  network.copy_every = 1;
  result = run({stream("s")}, {.pps = 0, .seconds = 0.02});
  EXPECT_GT(network.copied, 0u);
  EXPECT_EQ(result.streams[0].lost(), network.dropped);
  EXPECT_EQ(result.streams[0].duplicated, network.copied);
}

TEST_F(TrafficLoop, OthersPacketsAreForeignAndQuestionsAreAnswered) {
  ASSERT_TRUE(generator().use({stream("s")}));
  rte_mempool* pool = rte_mempool_lookup("traffic_receive");
  ASSERT_NE(pool, nullptr);
  // One request for us (what comes back is its answer, which nobody asked for), one foreign frame.
  uint8_t request[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0,  9, 8, 6,
                         0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,  0, 0, 9,
                         10,   1,    0,    7,    0,    0,    0, 0, 0, 0, 10, 1, 0, 1};
  std::thread others([&] {
    rte_thread_register();
    for (const uint8_t last : {uint8_t{1}, uint8_t{8}}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      request[41] = last;
      rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
      std::memcpy(rte_pktmbuf_append(mbuf, sizeof request), request, sizeof request);
      if (rte_eth_tx_burst(0, 0, &mbuf, 1) != 1) rte_pktmbuf_free(mbuf);
    }
    rte_thread_unregister();
  });
  // Nothing is sent for so long: the ring has one producer.
  auto result = generator().run({.pps = 0.001, .seconds = 0.3, .settle_seconds = 0.01});
  others.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->foreign, 2u);
  EXPECT_EQ(result->received, 1u);
}

TEST_F(TrafficLoop, ReplaysACaptureAndCountsItByPort) {
  const Folder folder;
  std::string bytes;
  const auto put = [&](uint32_t word) { bytes.append(reinterpret_cast<const char*>(&word), 4); };
  for (const uint32_t word : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65535u, 1u}) put(word);
  for (const uint32_t length : {42u, 60u, 1200u}) {
    for (const uint32_t word : {0u, 0u, length, length}) put(word);
    bytes.append(length, '\x08');
  }
  std::ofstream(folder / "x.pcap") << bytes;
  StreamSpec replayed = stream("replay");
  replayed.replay = folder / "x.pcap";
  const TrialResult result =
      run({replayed, stream("own")}, {.pps = 100e3, .seconds = 0.03, .settle_seconds = 1});
  EXPECT_GT(result.streams[0].sent, 3u);
  EXPECT_EQ(result.streams[0].received, result.streams[0].sent);
  EXPECT_EQ(result.streams[0].latency_ns.count(), 0u);
  EXPECT_EQ(result.streams[1].received, result.streams[1].sent);
  EXPECT_EQ(result.foreign, 0u);
}

TEST_F(TrafficLoop, FreesPacketsOfAnyShape) {
  rte_mempool* one = rte_pktmbuf_pool_create("one", 63, 0, 0, 256, SOCKET_ID_ANY);
  rte_mempool* other = rte_pktmbuf_pool_create("other", 63, 0, 0, 256, SOCKET_ID_ANY);
  ASSERT_TRUE(one != nullptr && other != nullptr);
  enum Odd { kNothing, kOtherPool, kSegments, kShared, kClone, kPassedOn };
  for (const Odd odd : {kNothing, kOtherPool, kSegments, kShared, kClone, kPassedOn})
    for (const unsigned place : {0u, 3u, 7u}) {
      SCOPED_TRACE(testing::Message() << "odd " << odd << " at " << place);
      rte_mbuf* burst[8];
      ASSERT_EQ(rte_pktmbuf_alloc_bulk(one, burst, 8), 0);
      rte_mbuf* packet = burst[place];
      if (odd == kOtherPool) {
        rte_pktmbuf_free(packet);
        burst[place] = rte_pktmbuf_alloc(other);
      } else if (odd == kSegments) {
        ASSERT_EQ(rte_pktmbuf_chain(packet, rte_pktmbuf_alloc(one)), 0);
      } else if (odd == kShared) {
        rte_mbuf_refcnt_update(packet, 1);
      } else if (odd == kClone) {
        burst[place] = rte_pktmbuf_clone(packet, one);
      } else if (odd == kPassedOn) {
        burst[place] = nullptr;
      }
      free_burst(burst, 8);
      const bool kept = odd == kShared || odd == kClone || odd == kPassedOn;
      EXPECT_EQ(rte_mempool_in_use_count(one), kept ? 1u : 0u);
      EXPECT_EQ(rte_mempool_in_use_count(other), 0u);
      if (kept) rte_pktmbuf_free(packet);
      ASSERT_EQ(rte_mempool_in_use_count(one), 0u);
    }
  rte_mempool_free(one);
  rte_mempool_free(other);
}

TEST_F(TrafficLoop, EndsEarlyWhenItIsTold) {
  ASSERT_TRUE(generator().use({stream("s")}));
  stop = true;
  auto result = generator().run({.pps = 1000, .seconds = 3600});
  stop = false;
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->interrupted);
  EXPECT_LT(result->seconds, 3000);
}

TEST_F(TrafficLoop, RefusesWhatItCannotDo) {
  auto used = generator().use({stream("s", lookup::Family::kIpv4, 9000)});
  ASSERT_FALSE(used);
  EXPECT_NE(used.error().message.find("frames of 9000 bytes; the buffers were made for 1518"),
            std::string::npos)
      << used.error().message;
  EXPECT_FALSE(generator().use({}));
  ASSERT_TRUE(generator().use({stream("s", lookup::Family::kIpv4, 100)}));
  EXPECT_NEAR(*generator().pps({TrafficRate::Unit::kBps, 8e6}), 10'000, 1e-6);
  const auto part = generator().pps({TrafficRate::Unit::kLinePart, 0.5});
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().message.find("port a tells no speed of its line"), std::string::npos);
}

TEST(TrafficReport, SaysWhyLessWasSent) {
  TrialResult result;
  result.seconds = 1;
  result.wanted = 1000;
  result.sent = 995;
  EXPECT_EQ(shortfall(result, 1000), "");
  result.sent = 600;
  result.refused = 300;
  EXPECT_NE(shortfall(result, 1000)
                .find("asked 1kpps, reached 600pps: the ports' transmit queues "
                      "were full for 30.0%"),
            std::string::npos);
  result.refused = 100;
  EXPECT_NE(shortfall(result, 1000)
                .find("the generator's CPU was too slow, or taken away, for "
                      "30.0%"),
            std::string::npos);
}

}  // namespace
}  // namespace hecto::bench
