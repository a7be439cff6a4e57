// TCP's MSS, lowered to what MTUs carry: against a checksum that is reckoned anew.
#include "router/dataplane/stages/mss_clamp.hpp"

#include <gtest/gtest.h>

#include <random>

#include "router/dataplane/snapshot_builder.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr uint8_t kSyn = 0x02, kAck = 0x10;
using Options = std::vector<uint8_t>;

Options mss(uint16_t value) {
  return {2, 4, static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
}

// Over the pseudo header (RFC 9293 §3.1); 0xffff where the checksum is right.
uint16_t tcp_sum(const uint8_t* tcp, uint32_t bytes, const uint8_t* addresses,
                 uint32_t address_bytes) {
  uint64_t sum = 6 + bytes + sum_words(addresses, address_bytes) + sum_words(tcp, bytes & ~1u);
  if (bytes % 2 == 1) sum += uint64_t{tcp[bytes - 1]} << 8;
  return fold_sum(sum);
}

// A segment with these options, and data behind them, its checksum right.
Frame tcp_frame(bool v4, const Options& options, uint8_t flags, unsigned data = 0,
                uint16_t flags_and_offset = 0) {
  const auto header = static_cast<unsigned>(20 + (options.size() + 3) / 4 * 4);
  const FrameOptions like{.payload_bytes = static_cast<uint16_t>(header + data),
                          .protocol = 6,
                          .flags_and_offset = flags_and_offset};
  Frame frame = v4 ? ipv4_frame(like) : ipv6_frame(like);
  const unsigned ip_bytes = v4 ? 20 : 40;
  uint8_t* const tcp = frame.data() + 14 + ip_bytes;
  std::memset(tcp, 0, header);
  tcp[1] = 80;
  tcp[12] = static_cast<uint8_t>(header / 4 << 4);
  tcp[13] = flags;
  std::copy(options.begin(), options.end(), tcp + 20);
  const uint32_t bytes = header + data;
  const uint8_t* const addresses = frame.data() + 14 + (v4 ? 12 : 8);
  const uint16_t sum = static_cast<uint16_t>(~tcp_sum(tcp, bytes, addresses, v4 ? 8 : 32));
  store16_be(tcp + 16, sum);
  return frame;
}

bool checksum_holds(const Frame& frame, bool v4) {
  const unsigned ip_bytes = v4 ? 20 : 40;
  const uint8_t* const tcp = frame.data() + 14 + ip_bytes;
  return tcp_sum(tcp, static_cast<uint32_t>(frame.size()) - 14 - ip_bytes,
                 frame.data() + 14 + (v4 ? 12 : 8), v4 ? 8 : 32) == 0xffff;
}

class MssClamp : public testing::Test {
 protected:
  MssClamp() {
    for (uint32_t i = 0; i < slots_.size(); ++i) slots_[i] = i;
    forward(1, 1, 1400);
    snapshot_.interfaces[0].mtu = 1500;
    snapshot_.interfaces[1].mtu = 1400;
    snapshot_.interfaces[0].clamps_mss = true;
  }
  void forward(unsigned group, InterfaceId out, uint16_t mtu) {
    records_[group].kind = RecordKind::kForward;
    records_[group].interface = out;
    records_[group].mtu = mtu;
  }
  template <typename Address>
  Frame run(Lane<Address>& lane, rte_mbuf* m, lookup::GroupId group, unsigned l2_length) {
    lane.count = 1;
    lane.packets[0] = m;
    lane.groups[0] = group;
    lane.ingress[0] = {0, l2_length};
    clamp_mss(lane, {slots_.data(), records_.data(), buckets_.data()}, snapshot_);
    Frame out = bytes_of(m);
    rte_pktmbuf_free(m);
    return out;
  }
  Frame clamped(bool v4, const Frame& frame, lookup::GroupId group = 1) {
    return v4 ? run(chunk_->v4, packet(frame), group, 14)
              : run(chunk_->v6, packet(frame), group, 14);
  }
  static uint16_t mss_of(const Frame& frame, bool v4, unsigned at = 20) {
    return load16_be(frame.data() + 14 + (v4 ? 20 : 40) + at + 2);
  }
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  Snapshot snapshot_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(8);
  std::vector<NextHopRecord> records_ = std::vector<NextHopRecord>(8);
  std::vector<lookup::GroupId> buckets_ = std::vector<lookup::GroupId>(8);
};

TEST_F(MssClamp, LowersItToWhatTheSmallerMtuCarries) {
  for (const bool v4 : {true, false})
    for (const uint8_t flags : {kSyn, uint8_t(kSyn | kAck)}) {
      const Frame out = clamped(v4, tcp_frame(v4, mss(1460), flags));
      EXPECT_EQ(mss_of(out, v4), v4 ? 1360 : 1340);
      EXPECT_TRUE(checksum_holds(out, v4));
      snapshot_.interfaces[0].mtu = 1300;  // where it came in
      EXPECT_EQ(mss_of(clamped(v4, tcp_frame(v4, mss(1460), flags)), v4), v4 ? 1260 : 1240);
      snapshot_.interfaces[0].mtu = 1500;
    }
}

TEST_F(MssClamp, HoldsForBothDirectionsOfTheInterface) {
  const Frame syn = tcp_frame(true, mss(1460), kSyn);
  snapshot_.interfaces[0].clamps_mss = false;
  EXPECT_EQ(clamped(true, syn), syn) << "neither";
  snapshot_.interfaces[1].clamps_mss = true;
  EXPECT_EQ(mss_of(clamped(true, syn), true), 1360) << "where it leaves";
}

TEST_F(MssClamp, LeavesAloneWhatIsNoneOfItsBusiness) {
  for (const bool v4 : {true, false}) {
    const auto untouched = [&](const Frame& frame, const char* what) {
      EXPECT_EQ(clamped(v4, frame), frame) << what;
    };
    untouched(tcp_frame(v4, mss(1300), kSyn), "small enough");
    untouched(tcp_frame(v4, mss(1460), kAck), "no SYN");
    untouched(tcp_frame(v4, {1, 1, 1, 0}, kSyn), "no MSS");
    untouched(tcp_frame(v4, {2, 3, 5, 0}, kSyn), "an MSS of three bytes");
    untouched(tcp_frame(v4, {2, 0, 0xff, 0xff}, kSyn), "a length of nothing");
    untouched(tcp_frame(v4, {3, 200, 7, 0, 2, 4, 5, 180}, kSyn), "an option that runs over");
    untouched(tcp_frame(v4, {1, 1, 1, 2}, kSyn), "cut behind its kind");
    untouched(tcp_frame(v4, {1, 2, 4, 5}, kSyn), "cut in its value");
    untouched(tcp_frame(v4, {0, 2, 4, 0xff}, kSyn), "behind the end of options");
    Frame lies = tcp_frame(v4, mss(1460), kSyn);
    uint8_t& length = lies[14 + (v4 ? 20 : 40) + 12];
    for (const uint8_t words : {0, 4, 5, 7, 15}) {
      length = static_cast<uint8_t>(words << 4);
      untouched(lies, "a header length that is not so");
    }
    Frame udp = tcp_frame(v4, mss(1460), kSyn);
    udp[v4 ? 14 + 9 : 14 + 6] = 17;
    untouched(udp, "UDP");
  }
  for (const uint16_t field : {uint16_t{1}, uint16_t{0x2001}}) {
    const Frame later = tcp_frame(true, mss(1460), kSyn, 0, field);
    EXPECT_EQ(clamped(true, later), later) << "no first fragment";
  }
  const Frame first = tcp_frame(true, mss(1460), kSyn, 0, kMoreFragments);
  EXPECT_EQ(mss_of(clamped(true, first), true), 1360) << "a first one";
}

TEST_F(MssClamp, NoFewerBytesThanThereAreAreRead) {
  const Frame whole = tcp_frame(true, mss(1460), kSyn);
  for (size_t bytes = 34; bytes < whole.size(); ++bytes) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
    EXPECT_EQ(clamped(true, cut), cut) << bytes;  // ASan looks on
  }
  rte_mbuf* const split = packet(whole, {14 + 20 + 22});  // in the midst of the option
  EXPECT_EQ(run(chunk_->v4, split, 1, 14), whole);
}

TEST_F(MssClamp, OfSeveralWaysTheFlowsOwn) {
  records_[2].kind = RecordKind::kMultipath;
  records_[2].bucket_mask = 1;
  records_[2].bucket_offset = 0;
  forward(3, 1, 1200);
  buckets_[0] = 1;
  buckets_[1] = 3;
  bool seen[2] = {};
  for (unsigned flow = 0; flow < 64; ++flow) {
    Frame syn = tcp_frame(true, mss(1460), kSyn);
    syn[34] = static_cast<uint8_t>(flow);
    const uint16_t now = mss_of(clamped(true, syn, 2), true);
    ASSERT_TRUE(now == 1360 || now == 1160) << now;
    seen[now == 1160] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1]);
}

TEST_F(MssClamp, OfWhatWaitsForItsNeighborToo) {
  records_[4].kind = RecordKind::kPunt;
  const Frame syn = tcp_frame(true, mss(1460), kSyn);
  EXPECT_EQ(clamped(true, syn, 4), syn) << "it is for the router itself";
  records_[4].interface = 1;
  records_[4].mtu = 1400;
  EXPECT_EQ(mss_of(clamped(true, syn, 4), true), 1360);
}

TEST_F(MssClamp, AnMtuWithoutRoomForDataChangesNothing) {
  const Frame syn = tcp_frame(true, mss(1460), kSyn);
  for (const uint16_t mtu : {1, 40}) {
    records_[1].mtu = mtu;
    EXPECT_EQ(clamped(true, syn), syn) << mtu;
  }
  records_[1].mtu = 68;
  EXPECT_EQ(mss_of(clamped(true, syn), true), 28);
}

TEST_F(MssClamp, EveryChecksumIsAsIfReckonedAnew) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (int round = 0; round < 20000; ++round) {
    const bool v4 = random() % 2 == 0;
    Options options(random() % 8, 1);  // so that the value stands at odd places, too
    const auto at = static_cast<unsigned>(20 + options.size());
    const auto before = static_cast<uint16_t>(random());
    for (const uint8_t byte : mss(before)) options.push_back(byte);
    records_[1].mtu = static_cast<uint16_t>(100 + random() % 1400);
    const Frame out =
        clamped(v4, tcp_frame(v4, options, kSyn, static_cast<unsigned>(random() % 40)));
    const uint16_t most = static_cast<uint16_t>(records_[1].mtu - (v4 ? 40 : 60));
    ASSERT_EQ(mss_of(out, v4, at), std::min(before, most)) << round;
    ASSERT_TRUE(checksum_holds(out, v4)) << round;
  }
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST(MssClampSnapshot, CostsNothingWhereNobodyAsksForIt) {
  const auto features = [](bool clamps) {
    SnapshotBuilder builder(0);
    SnapshotBuilder::PortSetup port;
    port.transmit.resize(1);
    for (port.id = 0; port.id < 2; ++port.id) builder.add_port(port);
    InterfaceSetup interface;
    interface.id = 1;
    interface.port = 1;
    interface.clamps_mss = clamps;
    builder.add_interface(interface);
    const auto snapshot = builder.finish({}, true, 1);
    EXPECT_EQ(snapshot->clamps_mss, clamps);
    return std::array{snapshot->features, snapshot->ports[0].features, snapshot->ports[1].features,
                      snapshot->ports[2].features};
  };
  EXPECT_EQ(features(false), (std::array<unsigned, 4>{}));
  EXPECT_EQ(features(true), (std::array<unsigned, 4>{kFeatureUrpf, kFeatureUrpf, kFeatureUrpf, 0}))
      << "what leaves there comes in by any port";
}

}  // namespace
}  // namespace hecto::router::test
