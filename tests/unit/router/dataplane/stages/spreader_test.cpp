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
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/flow_frames.hpp"

namespace hecto::router::test {
namespace {

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
