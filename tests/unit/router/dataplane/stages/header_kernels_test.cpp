// Each header kernel beside the loop that looks at one packet after the other: chunks of all sizes,
// most packets in order, some hostile.
#include "router/dataplane/stages/header_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "router/dataplane/stages/classify.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

constexpr HeaderKernels kOneByOne{1, nullptr};

class HeaderKernelsTest : public testing::TestWithParam<lookup::Isa> {
 protected:
  void SetUp() override {
    kernels_ = header_kernels_of(GetParam());
    if (kernels_.run == nullptr) GTEST_SKIP() << "this CPU has not that set";
  }

  static void fill(Chunk& chunk, const std::vector<Frame>& frames) {
    chunk.count = static_cast<unsigned>(frames.size());
    for (unsigned i = 0; i < chunk.count; ++i) chunk.packets[i] = packet(frames[i]);
  }
  // What stands at the same place of the chunk, whichever mbuf it is.
  static std::vector<unsigned> places(const Chunk& chunk, rte_mbuf* const* packets,
                                      unsigned count) {
    std::vector<unsigned> out;
    for (unsigned i = 0; i < count; ++i)
      out.push_back(static_cast<unsigned>(
          std::find(chunk.packets, chunk.packets + chunk.count, packets[i]) - chunk.packets));
    return out;
  }
  template <typename Address>
  static void expect_same(const Chunk& a, const Lane<Address>& lane_a, const Chunk& b,
                          const Lane<Address>& lane_b) {
    ASSERT_EQ(places(a, lane_a.packets, lane_a.count), places(b, lane_b.packets, lane_b.count));
    for (unsigned i = 0; i < lane_a.count; ++i) {
      ASSERT_EQ(std::memcmp(&lane_a.destinations[i], &lane_b.destinations[i], sizeof(Address)), 0);
      ASSERT_EQ(lane_a.ingress[i].interface(), lane_b.ingress[i].interface());
      ASSERT_EQ(lane_a.ingress[i].l2_length(), lane_b.ingress[i].l2_length());
    }
  }
  static void free_all(const Chunk& chunk) {
    for (unsigned i = 0; i < chunk.count; ++i) rte_pktmbuf_free(chunk.packets[i]);
  }

  // Both over the same frames; returns how many were cleared.
  template <unsigned Features>
  unsigned compare(const std::vector<Frame>& frames) {
    fill(*one_, frames);
    fill(*many_, frames);
    classify<Features>(*one_, bed_.port(), bed_.snapshot, kOneByOne);
    // Any address does for a FIB: what is fetched is not read.
    classify<Features>(*many_, bed_.port(), bed_.snapshot, kernels_, &bed_);
    expect_same(*one_, one_->v4, *many_, many_->v4);
    expect_same(*one_, one_->v6, *many_, many_->v6);
    EXPECT_EQ(one_->bytes, many_->bytes);
    EXPECT_EQ(one_->refused_count, many_->refused_count);
    for (unsigned i = 0; i < std::min(one_->refused_count, many_->refused_count); ++i) {
      EXPECT_EQ(one_->refused[i].reason, many_->refused[i].reason);
      EXPECT_EQ(places(*one_, &one_->refused[i].packet, 1),
                places(*many_, &many_->refused[i].packet, 1));
    }
    for (unsigned i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(one_->packets[i]->pkt_len, many_->packets[i]->pkt_len);
      EXPECT_EQ(many_->packets[i]->data_len, many_->packets[i]->pkt_len);
    }
    const unsigned cleared = one_->v4.count + one_->v6.count;
    free_all(*one_);
    free_all(*many_);
    return cleared;
  }

  Frame random_frame(unsigned ipv6_of_8) {
    const auto octet = [&] { return std::to_string(random_() % 256); };
    const std::string from = octet() + "." + octet() + "." + octet() + "." + octet();
    const std::string to = octet() + "." + octet() + "." + octet() + "." + octet();
    const auto ttl = static_cast<uint8_t>(random_() % 16 == 0 ? random_() % 3 : random_());
    const auto payload = static_cast<uint16_t>(random_() % 60);
    Frame frame = random_() % 8 < ipv6_of_8 ? ipv6_frame({.ttl = ttl, .payload_bytes = payload})
                                            : ipv4_frame({.source = from.c_str(),
                                                          .destination = to.c_str(),
                                                          .ttl = ttl,
                                                          .payload_bytes = payload});
    if (random_() % 4 == 0) frame.resize(frame.size() + random_() % 20);
    return frame;
  }
  void spoil(Frame& frame) {
    const size_t at = random_() % std::min<size_t>(frame.size(), 54);
    static constexpr uint8_t kValues[] = {0, 1, 127, 169, 223, 224, 254, 255};
    frame[at] = random_() % 2 == 0 ? kValues[random_() % 8] : static_cast<uint8_t>(random_());
    if (random_() % 2 == 0 && frame[14] >> 4 == 4) fix_checksum(frame);
    if (random_() % 8 == 0) frame.resize(random_() % frame.size());
  }

  HeaderKernels kernels_{1, nullptr};
  classify_detail::PortFacts facts() { return classify_detail::PortFacts(bed_.port()); }

  Bed bed_;
  std::unique_ptr<Chunk> one_ = std::make_unique<Chunk>(), many_ = std::make_unique<Chunk>();
  unsigned seed_ = static_cast<unsigned>(test_seed());
  std::mt19937 random_{seed_};
};

TEST_P(HeaderKernelsTest, ClearsAndRefusesWhatTheLoopDoes) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  unsigned cleared = 0, all = 0;
  for (unsigned run = 0; run < 4000 && !HasFatalFailure(); ++run) {
    std::vector<Frame> frames(1 + random_() % (run % 16 == 0 ? kChunkSize : 40));
    const unsigned ipv6_of_8 = std::array{0u, 8u, 4u, 1u}[run % 4];
    for (Frame& frame : frames) frame = random_frame(ipv6_of_8);
    for (unsigned bad = random_() % 3; bad > 0; --bad) spoil(frames[random_() % frames.size()]);
    cleared += run % 2 == 0 ? compare<0>(frames) : compare<kFeatureVlan>(frames);
    all += static_cast<unsigned>(frames.size());
  }
  EXPECT_GT(cleared, all / 2);
  EXPECT_LT(cleared, all);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

// Each byte of the headers with each value, in a group that is in order but for it.
TEST_P(HeaderKernelsTest, SeesEachByteOfTheHeaders) {
  for (const bool ipv6 : {false, true})
    for (unsigned at = 0; at < (ipv6 ? 54u : 34u) && !HasFatalFailure(); ++at)
      for (unsigned value = 0; value < 256; ++value) {
        const Frame whole = ipv6 ? ipv6_frame() : ipv4_frame();
        std::vector<Frame> frames(kernels_.lanes, whole);
        Frame& frame = frames[value % kernels_.lanes];
        frame[at] = static_cast<uint8_t>(value);
        if (!ipv6 && at != 24 && at != 25 && frame[14] == 0x45) fix_checksum(frame);
        SCOPED_TRACE(testing::Message() << "byte " << at << " is " << value);
        compare<0>(frames);
      }
}

// One of them among packets that are in order, as source, as destination, and as both.
TEST_P(HeaderKernelsTest, SeesAddressesThatAreNotForwarded) {
  const auto refuses = [this](const FrameOptions& options, bool ipv6) {
    std::vector<Frame> frames(kernels_.lanes, ipv6 ? ipv6_frame() : ipv4_frame());
    frames[kernels_.lanes / 2] = ipv6 ? ipv6_frame(options) : ipv4_frame(options);
    return compare<0>(frames) == kernels_.lanes - 1;
  };
  for (const char* address :
       {"0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.5", "240.0.0.1", "255.255.255.255"}) {
    EXPECT_TRUE(refuses({.source = address}, false)) << address;
    EXPECT_TRUE(refuses({.destination = address}, false)) << address;
  }
  for (const char* address : {"::", "::1", "::ffff:1.2.3.4", "fe80::1", "ff02::1"}) {
    EXPECT_TRUE(refuses({.source = address}, true)) << address;
    EXPECT_TRUE(refuses({.destination = address}, true)) << address;
  }
  EXPECT_TRUE(refuses({.source = "203.0.113.9", .destination = "203.0.113.9"}, false));
  EXPECT_TRUE(refuses({.source = "2001:db8::9", .destination = "2001:db8::9"}, true));
  EXPECT_FALSE(refuses({.source = "2001:db8:1::9", .destination = "2001:db8:2::9"}, true));
}

TEST_P(HeaderKernelsTest, TakesWholeGroupsToTheLastPacketOfAChunk) {
  const std::vector<Frame> frames(kChunkSize, ipv4_frame());
  fill(*many_, frames);
  many_->v4.count = many_->v6.count = 0;
  EXPECT_EQ(classify_detail::clear_groups(*many_, facts(), 0, kernels_), kChunkSize);
  EXPECT_EQ(many_->v4.count, kChunkSize);
  free_all(*many_);
  for (const bool mixed : {false, true}) {
    std::vector<Frame> six(kChunkSize, ipv6_frame());
    for (unsigned i = 0; mixed && i < kChunkSize; i += 3) six[i] = ipv4_frame();
    fill(*many_, six);
    many_->v4.count = many_->v6.count = 0;
    EXPECT_EQ(classify_detail::clear_groups(*many_, facts(), 0, kernels_), kChunkSize);
    EXPECT_EQ(many_->v4.count + many_->v6.count, kChunkSize);
    free_all(*many_);
  }
  EXPECT_EQ(compare<0>(frames), kChunkSize);
  EXPECT_EQ(compare<0>({kChunkSize, ipv6_frame()}), kChunkSize);
  EXPECT_EQ(compare<kFeatureVlan>({kChunkSize, ipv4_frame({.vlan = 100})}), kChunkSize);
}

// Why a kernel may stop, and that it does: the loop would have done the work as well.
TEST_P(HeaderKernelsTest, StopsAtTheGroupThatIsNotInOrder) {
  std::vector<Frame> frames(3 * kernels_.lanes, ipv4_frame());
  frames[kernels_.lanes + 1][24] ^= 1;
  fill(*many_, frames);
  many_->v4.count = many_->v6.count = 0;
  EXPECT_EQ(classify_detail::clear_groups(*many_, facts(), 0, kernels_), kernels_.lanes);
  EXPECT_EQ(many_->v4.count, kernels_.lanes);
  free_all(*many_);
}

TEST_P(HeaderKernelsTest, LeavesSegmentsToTheLoop) {
  fill(*many_, std::vector<Frame>(kernels_.lanes, ipv4_frame()));
  rte_pktmbuf_free(many_->packets[1]);
  many_->packets[1] = packet(ipv4_frame({.payload_bytes = 1000}), {500});
  many_->v4.count = many_->v6.count = 0;
  EXPECT_EQ(classify_detail::clear_groups(*many_, facts(), 0, kernels_), 0u);
  classify<0>(*many_, bed_.port(), bed_.snapshot, kernels_);
  EXPECT_EQ(many_->v4.count, kernels_.lanes);
  free_all(*many_);
}

std::vector<unsigned> g_offered;  // packets, by call

// Kernels that put nothing into the lanes: the loop does all the work, but for what `skips` skips.
TEST(HeaderKernels, WhatIsLessThanAGroupIsOfferedToTheSmallerKernel) {
  constexpr auto kOffered = [](HeaderJob& job) noexcept {
    g_offered.push_back(job.count - job.next);
  };
  constexpr auto kSkips = [](HeaderJob& job) noexcept {
    while (job.count - job.next >= 16) job.next += 16;
  };
  const HeaderKernels small{8, kOffered};
  const HeaderKernels refuses{16, [](HeaderJob&) noexcept {}, &small}, skips{16, kSkips, &small};
  const auto offered = [&](const HeaderKernels& large, unsigned packets) {
    g_offered.clear();
    const auto chunk = std::make_unique<Chunk>();
    Bed bed;
    chunk->count = packets;
    for (unsigned i = 0; i < packets; ++i) chunk->packets[i] = packet(ipv4_frame());
    classify<0>(*chunk, bed.port(), bed.snapshot, large);
    EXPECT_EQ(chunk->v4.count, &large == &skips ? packets % 16 : packets);
    for (unsigned i = 0; i < packets; ++i) rte_pktmbuf_free(chunk->packets[i]);
    return g_offered;
  };
  using Calls = std::vector<unsigned>;
  EXPECT_EQ(offered(refuses, 7), Calls{});
  EXPECT_EQ(offered(refuses, 8), Calls{8});
  EXPECT_EQ(offered(refuses, 27), Calls{11});
  EXPECT_EQ(offered(refuses, 32), Calls{});
  EXPECT_EQ(offered(skips, 23), Calls{});
  EXPECT_EQ(offered(skips, 24), Calls{8});
  EXPECT_EQ(offered(skips, 43), Calls{11});
  EXPECT_EQ(offered(skips, 32), Calls{});
  const HeaderKernels& widest = header_kernels_of(lookup::Isa::kAvx512);
  const bool takes = widest.run != nullptr;  // or this CPU has not that set
  EXPECT_EQ(widest.smaller, takes ? &header_kernels_of(lookup::Isa::kAvx2) : nullptr);
}

// Look-ups alone gather.
TEST(HeaderKernels, CpuThatGathersHasThoseOfAvx512) {
  if (!lookup::is_supported(lookup::Isa::kAvx512Gather))
    GTEST_SKIP() << "this CPU has not that set";
  ASSERT_NE(header_kernels_of(lookup::Isa::kAvx512Gather).run, nullptr);
  EXPECT_EQ(header_kernels_of(lookup::Isa::kAvx512Gather).run,
            header_kernels_of(lookup::Isa::kAvx512).run);
}

INSTANTIATE_TEST_SUITE_P(Isas, HeaderKernelsTest,
                         testing::Values(lookup::Isa::kAvx2, lookup::Isa::kAvx512),
                         [](const auto& info) { return lookup::to_string(info.param); });

}  // namespace
}  // namespace hecto::router::test
