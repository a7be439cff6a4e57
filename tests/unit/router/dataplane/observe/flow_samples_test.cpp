// Which packets are sampled, what is kept of them, and what becomes of a ring that nobody reads.
#include "router/dataplane/observe/flow_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "router/dataplane/observe/observer.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

struct Sample {
  FlowRecord record;
  Frame bytes;
};

struct FlowBed {
  explicit FlowBed(FlowSampling sampling, uint64_t seed = test_seed()) {
    pool();
    if (sampling.ports == 0) sampling.ports = ~uint64_t{0};
    use = {sampling, std::make_shared<FlowTaps>(1)};
    sampler->use(&use, 0, seed);
  }
  FlowTap& tap() { return (*use.taps)[0]; }
  FlowTap::Counts& counts(PortId port = 0) { return tap().ports[port]; }
  std::vector<Sample> read() {
    std::vector<Sample> samples;
    for (auto entry = tap().ring.front(); !entry.empty(); entry = tap().ring.front()) {
      Sample sample;
      std::memcpy(&sample.record, entry.data(), sizeof sample.record);
      const auto* first = reinterpret_cast<const uint8_t*>(entry.data()) + sizeof sample.record;
      sample.bytes.assign(first, first + sample.record.captured);
      EXPECT_EQ(entry.size(), sizeof sample.record + sample.record.captured);
      samples.push_back(sample);
      tap().ring.pop();
    }
    return samples;
  }
  // `count` packets of one buffer, as a chunk of that port.
  void pass(rte_mbuf* packet, unsigned count, PortId port = 0) {
    chunk->count = count;
    for (unsigned i = 0; i < count; ++i) chunk->packets[i] = packet;
    if (sampler->take(*chunk, port)) sampler->finish();
  }

  FlowSamplingUse use;
  std::unique_ptr<FlowSampler> sampler = std::make_unique<FlowSampler>();
  std::unique_ptr<Chunk> chunk = std::make_unique<Chunk>();
};

TEST(FlowSampler, OneInOneIsEachPacketAsItCame) {
  FlowBed bed({1, 64, 0});
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 200; ++i) {
    FrameOptions options;
    options.payload_bytes = static_cast<uint16_t>(20 + i);
    frames.push_back(ipv4_frame(options));
  }
  for (size_t first = 0; first < frames.size(); first += 50) {
    bed.chunk->count = 50;
    // Some in several segments, cut where nothing ends.
    for (unsigned i = 0; i < 50; ++i)
      bed.chunk->packets[i] = packet(
          frames[first + i], i % 3 == 0 ? std::vector<size_t>{20, 41} : std::vector<size_t>{});
    ASSERT_TRUE(bed.sampler->take(*bed.chunk, 3));
    bed.sampler->finish();
    for (unsigned i = 0; i < 50; ++i) rte_pktmbuf_free(bed.chunk->packets[i]);
  }
  const auto samples = bed.read();
  ASSERT_EQ(samples.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame& sent = frames[i];
    EXPECT_EQ(samples[i].record.length, sent.size());
    EXPECT_EQ(samples[i].record.port, PortId(3));
    EXPECT_EQ(samples[i].record.rate, 1u);
    EXPECT_EQ(samples[i].bytes,
              Frame(sent.begin(),
                    sent.begin() + static_cast<ptrdiff_t>(std::min<size_t>(64, sent.size()))));
  }
  EXPECT_EQ(bed.counts(3).pool.get(), 200u);
  EXPECT_EQ(bed.counts(3).taken.get(), 200u);
}

// The share of all, and of every kth packet for many k: five standard deviations of the binomial.
TEST(FlowSampler, NothingPeriodicHides) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const uint32_t rate : {2u, 7u, 64u, 1000u}) {
    FlowBed bed({rate, 14, 0}, seed + rate);
    rte_mbuf* const frame = packet(ipv4_frame());
    constexpr unsigned kPackets = 2'000'000;
    uint64_t passed = 0, taken = 0;
    while (passed < kPackets) {
      const unsigned count = 1 + static_cast<unsigned>(random() % kChunkSize);
      bed.chunk->count = count;
      for (unsigned i = 0; i < count; ++i) bed.chunk->packets[i] = frame;
      const uint64_t before = bed.counts().taken.get();
      if (bed.sampler->take(*bed.chunk, 0)) bed.sampler->finish();
      taken += bed.counts().taken.get() - before;
      passed += count;
      bed.read();
    }
    const double share = 1.0 / rate;
    const auto total = static_cast<double>(passed);
    EXPECT_NEAR(static_cast<double>(taken), total * share,
                5 * std::sqrt(total * share * (1 - share)))
        << "one in " << rate;
    EXPECT_EQ(bed.counts().pool.get(), passed);
    rte_pktmbuf_free(frame);
  }
}

// Which packets of a period of 64 are chosen, one in 64: each place as often as any other.
TEST(FlowSampler, EveryPlaceOfAPeriodHasItsShare) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  FlowBed bed({64, 1024, 0}, seed);
  std::vector<rte_mbuf*> places;
  for (unsigned i = 0; i < 64; ++i) {
    FrameOptions options;
    options.payload_bytes = static_cast<uint16_t>(i);
    places.push_back(packet(ipv4_frame(options)));
  }
  std::array<unsigned, 64> seen{};
  constexpr unsigned kRounds = 60'000;
  for (unsigned round = 0; round < kRounds; ++round) {
    bed.chunk->count = 64;
    std::copy(places.begin(), places.end(), bed.chunk->packets);
    if (bed.sampler->take(*bed.chunk, 0)) bed.sampler->finish();
    for (const Sample& sample : bed.read()) ++seen[sample.record.length - 34];
  }
  const double mean = kRounds / 64.0;
  for (unsigned place = 0; place < 64; ++place)
    EXPECT_NEAR(seen[place], mean, 5 * std::sqrt(mean)) << place;
  for (rte_mbuf* each : places) rte_pktmbuf_free(each);
}

TEST(FlowSampler, PortsThatAreNotAskedForAreLeftAlone) {
  FlowBed bed({1, 64, uint64_t{1} << 2 | uint64_t{1} << 63});
  rte_mbuf* const frame = packet(ipv4_frame());
  for (const PortId port : {PortId(0), PortId(2), PortId(63)}) bed.pass(frame, 3, port);
  EXPECT_EQ(bed.read().size(), 6u);
  EXPECT_EQ(bed.counts(0).pool.get(), 0u);
  EXPECT_EQ(bed.counts(2).pool.get(), 3u);
  EXPECT_EQ(bed.counts(63).taken.get(), 3u);
  rte_pktmbuf_free(frame);
}

TEST(FlowSampler, AFullRingIsCountedAndGoesOnWhenThereIsRoom) {
  FlowBed bed({1, 1024, 0});
  FrameOptions options;
  options.payload_bytes = 1000;
  rte_mbuf* const frame = packet(ipv4_frame(options));
  uint64_t sent = 0, read = 0;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 20; ++i, sent += 64) bed.pass(frame, 64);
    read += bed.read().size();
    EXPECT_EQ(bed.counts().taken.get(), sent);
    EXPECT_EQ(bed.counts().taken.get(), read + bed.counts().lost.get());
  }
  EXPECT_GT(bed.counts().lost.get(), 0u);
  EXPECT_GT(read, 3 * kFlowRing_bytes / 1200);
  rte_pktmbuf_free(frame);
}

TEST(FlowSampler, TheHighestRateDoesNotOverflow) {
  FlowBed bed({1u << 24, 64, 0});
  rte_mbuf* const frame = packet(ipv4_frame());
  for (unsigned i = 0; i < 400'000; ++i) bed.pass(frame, kChunkSize);  // 102 million
  EXPECT_LE(bed.read().size(), 40u);
  EXPECT_GE(bed.counts().taken.get(), 1u);
  rte_pktmbuf_free(frame);
}

TEST(FlowSampler, FollowsWhatBecomesOfPackets) {
  FlowBed bed({1, 64, 0});
  std::vector<rte_mbuf*> packets;
  for (unsigned i = 0; i < 6; ++i) packets.push_back(packet(ipv4_frame()));
  rte_mbuf* const copy = packet(ipv4_frame());
  std::copy(packets.begin(), packets.end(), bed.chunk->packets);
  bed.chunk->count = 6;
  ASSERT_TRUE(bed.sampler->take(*bed.chunk, 0));
  FlowSampler& sampler = *bed.sampler;
  sampler.refused(packets[1], Reason::kNoRoute, SampleFate::kDropped);
  sampler.refused(packets[1], Reason::kArp, SampleFate::kPunted);  // its buffer is another's by now
  sampler.refused(packets[2], Reason::kLocal, SampleFate::kPunted);
  sampler.queued(packets[0], 5);
  sampler.queued(packets[3], 7);
  sampler.replaced(packets[3], copy);
  sampler.refused(copy, Reason::kTransmitFull, SampleFate::kDropped);
  sampler.sent(5);
  sampler.queued(packets[0], 9);  // likewise
  sampler.finish();
  const auto samples = bed.read();
  ASSERT_EQ(samples.size(), 6u);
  const auto fate = [&](size_t i) {
    return std::tuple(samples[i].record.fate, unsigned{samples[i].record.egress},
                      samples[i].record.reason);
  };
  EXPECT_EQ(fate(0), std::tuple(SampleFate::kForwarded, 5u, Reason::kNone));
  EXPECT_EQ(fate(1), std::tuple(SampleFate::kDropped, 0u, Reason::kNoRoute));
  EXPECT_EQ(fate(2), std::tuple(SampleFate::kPunted, 0u, Reason::kLocal));
  EXPECT_EQ(fate(3), std::tuple(SampleFate::kDropped, 7u, Reason::kTransmitFull));
  EXPECT_EQ(fate(4), std::tuple(SampleFate::kUnknown, 0u, Reason::kNone));
  rte_pktmbuf_free(copy);
  for (rte_mbuf* each : packets) rte_pktmbuf_free(each);
}

// The whole way: classify, look-up, rewrite, transmit; and with IPsec, where what leaves is another.
class SampledPipeline : public TwoGateways {
 protected:
  void SetUp() override {
    bed_ = std::make_unique<FlowBed>(FlowSampling{1, 64, 0});
    left_.snapshot().sampling = std::make_shared<const FlowSamplingUse>(bed_->use);
  }
  void TearDown() override {
    for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
    left_.refused();
  }
  std::unique_ptr<FlowBed> bed_;
};

TEST_F(SampledPipeline, KnowsThePortThatPacketsLeaveBy) {
  const Frame frame = ipv4_frame(from_left());
  left_.run({packet(frame), packet(ipv4_frame(from_host("10.1.0.1", "203.0.113.9")))}, 0);
  const auto samples = bed_->read();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].record.fate, SampleFate::kForwarded);
  EXPECT_EQ(samples[0].record.egress, PortId(1));
  EXPECT_EQ(samples[0].bytes, frame.size() > 64 ? Frame(frame.begin(), frame.begin() + 64) : frame)
      << "as it came, not as it left";
}

TEST_F(SampledPipeline, SeesWhatGoesIntoATunnelInTheClear) {
  left_.tunnel();
  const Frame frame = ipv4_frame(from_left());
  left_.run({packet(frame)}, 0);
  const auto samples = bed_->read();
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].record.egress, PortId(1));
  EXPECT_TRUE(std::equal(samples[0].bytes.begin(), samples[0].bytes.end(), frame.begin()));
}

TEST_F(SampledPipeline, OffMeansOffAndOnAgainGoesOn) {
  const auto use = left_.snapshot().sampling;
  left_.snapshot().sampling = nullptr;
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(bed_->counts().pool.get(), 0u);
  left_.snapshot().sampling = use;
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(bed_->counts().pool.get(), 1u);
  EXPECT_EQ(bed_->read().size(), 1u);
}

}  // namespace
}  // namespace hecto::router::test
