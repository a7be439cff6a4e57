// What leaves in fragments, against a host that puts them together and knows nothing of how they were
// cut.
#include "router/dataplane/stages/fragment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "router/dataplane/stages/rewrite.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr uint16_t kOffset = 0x1fff;

struct Ip {
  explicit Ip(const Frame& frame, unsigned l2_length) : at(frame.data() + l2_length) {}
  uint32_t total() const { return load16_be(at + 2); }
  uint32_t identification() const { return load16_be(at + 4); }
  bool more() const { return (at[6] & 0x20) != 0; }
  uint32_t offset() const { return (load16_be(at + 6) & kOffset) * 8u; }
  const uint8_t* data() const { return at + 20; }
  uint32_t bytes() const { return total() - 20; }
  const uint8_t* at;
};

// By the bytes' own offsets alone (RFC 791 §3.2). `begin`: where the first of them stood.
std::vector<uint8_t> put_together(const std::vector<Frame>& fragments, unsigned l2_length,
                                  uint32_t begin, bool* more_behind) {
  std::map<uint32_t, uint8_t> bytes;
  for (const Frame& each : fragments) {
    const Ip ip(each, l2_length);
    for (uint32_t i = 0; i < ip.bytes(); ++i)
      EXPECT_TRUE(bytes.emplace(ip.offset() + i, ip.data()[i]).second) << "twice";
  }
  std::vector<uint8_t> whole;
  for (const auto& [at, byte] : bytes) {
    EXPECT_EQ(at, begin + whole.size()) << "a hole";
    whole.push_back(byte);
  }
  *more_behind = Ip(fragments.back(), l2_length).more();
  return whole;
}

class Fragments : public testing::Test {
 protected:
  static constexpr PortId kPort = 3;
  Fragments() {
    paths_[kPort].queue = 0;
    paths_[kPort].handoff =
        rte_ring_create("fragments", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    transmitter_->use(&paths_);
    slots_[1] = 1;
    record().kind = RecordKind::kForward;
    record().port = kPort;
    record().interface = 1;
    snapshot_.interfaces[1].counters = true;
    leave_by(0);
  }
  ~Fragments() override { rte_ring_free(paths_[kPort].handoff); }

  NextHopRecord& record() { return records_[1]; }
  void leave_by(uint16_t vlan) {
    uint8_t header[18] = {0x02, 0, 0, 0, 0, 0x0a, 0x02, 0, 0, 0, 0, 0x0b};
    const uint16_t tag[2] = {kEtherVlan, __builtin_bswap16(vlan)};
    std::memcpy(header + 12, tag, sizeof tag);
    std::memcpy(header + (vlan == 0 ? 12 : 16), &kEtherIpv4, 2);
    std::memcpy(record().header, header, sizeof header);
    record().header_length = vlan == 0 ? 14 : 18;
  }
  std::vector<Frame> leave(rte_mbuf* packet, unsigned l2_length = kEthernetBytes) {
    chunk_->refused_count = 0;
    chunk_->v4.count = 1;
    chunk_->v4.packets[0] = packet;
    chunk_->v4.groups[0] = 1;
    chunk_->v4.ingress[0] = {0, l2_length};
    rewrite(chunk_->v4, *chunk_, {slots_.data(), records_.data(), nullptr}, *transmitter_,
            snapshot_, *interfaces_, {redirects_.get()});
    transmitter_->flush_all();
    std::vector<Frame> sent;
    for (void* each = nullptr; rte_ring_dequeue(paths_[kPort].handoff, &each) == 0;) {
      auto* const m = static_cast<rte_mbuf*>(each);
      sent.push_back(bytes_of(m));
      EXPECT_EQ(m->pkt_len, sent.back().size());
      rte_pktmbuf_free(m);
    }
    return sent;
  }
  Reason refused() {
    if (chunk_->refused_count == 0) return Reason::kNone;
    refused_frame_ = bytes_of(chunk_->refused[0].packet);
    rte_pktmbuf_free(chunk_->refused[0].packet);
    return chunk_->refused[0].reason;
  }
  void expect_as_one(const Frame& before, unsigned l2_length, const std::vector<Frame>& sent) {
    const Ip whole(before, l2_length);
    const unsigned out = record().header_length;
    for (const Frame& each : sent) {
      const Ip ip(each, out);
      EXPECT_EQ(std::memcmp(each.data(), record().header, out), 0);
      ASSERT_EQ(each.size(), out + ip.total());
      EXPECT_LE(ip.total(), record().mtu);
      EXPECT_EQ(full_checksum(ip.at, 20), 0);
      EXPECT_EQ(ip.at[8], whole.at[8] - 1) << "TTL";
      EXPECT_EQ(ip.identification(), whole.identification());
      EXPECT_EQ(ip.at[6] & 0xc0, whole.at[6] & 0xc0) << "DF and the reserved bit";
      if (&each != &sent.back()) {
        EXPECT_EQ(ip.bytes() % 8, 0u);
        EXPECT_TRUE(ip.more());
        EXPECT_GT(ip.total() + 8, record().mtu) << "as long as may be";
      }
      for (const unsigned at : {0, 1, 9, 12, 13, 14, 15, 16, 17, 18, 19})
        EXPECT_EQ(ip.at[at], whole.at[at]) << at;
    }
    bool more = false;
    const auto data = put_together(sent, out, whole.offset(), &more);
    EXPECT_EQ(data, std::vector<uint8_t>(whole.data(), whole.data() + whole.bytes()));
    EXPECT_EQ(more, whole.more());
  }

  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  std::unique_ptr<std::array<PortCounters, kMaxPorts>> ports_ =
      std::make_unique<std::array<PortCounters, kMaxPorts>>();
  std::unique_ptr<ReasonCounters> reasons_ = std::make_unique<ReasonCounters>();
  std::unique_ptr<std::array<InterfaceCounters, kMaxInterfaces>> interfaces_ =
      std::make_unique<std::array<InterfaceCounters, kMaxInterfaces>>();
  std::unique_ptr<Transmitter> transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
  std::unique_ptr<AnswerLimit> redirects_ = std::make_unique<AnswerLimit>();
  std::array<TransmitPath, kMaxPorts> paths_;
  Snapshot snapshot_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(2);
  std::vector<NextHopRecord> records_ = std::vector<NextHopRecord>(2);
  Frame refused_frame_;
};

TEST_F(Fragments, AnyPacketPutTogetherIsWhatItWas) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  uint64_t fragments = 0;
  for (int round = 0; round < 3000; ++round) {
    FrameOptions options;
    options.payload_bytes = static_cast<uint16_t>(40 + random() % (round % 10 == 0 ? 3000 : 1700));
    options.ttl = static_cast<uint8_t>(2 + random() % 254);
    options.vlan = random() % 2 == 0 ? 100 : 0;
    if (options.vlan != 0 && random() % 2 == 0) options.outer_vlan = 7;
    const uint32_t most_offset = (65535u - 20 - options.payload_bytes) / 8;
    if (random() % 3 == 0)
      options.flags_and_offset = static_cast<uint16_t>((random() % 2 == 0 ? kMoreFragments : 0) |
                                                       random() % (most_offset + 1));
    if (random() % 8 == 0) options.flags_and_offset |= 0x8000;  // reserved: not ours to change
    leave_by(random() % 2 == 0 ? 200 : 0);
    record().mtu = static_cast<uint16_t>(68 + random() % 1000);
    const Frame frame = ipv4_frame(options);
    const unsigned l2_length = options.vlan == 0 ? 14 : options.outer_vlan == 0 ? 18 : 22;
    // In one segment or several, of which each may end anywhere behind the header.
    std::vector<size_t> cuts;
    for (size_t at = l2_length + 20; frame.size() > 1900 || random() % 2 == 0;) {
      at += random() % 1000;
      if (at >= frame.size() || cuts.size() == 4) break;
      cuts.push_back(at);
    }
    if (frame.size() > 1900 && cuts.empty()) continue;
    bool fits_mbufs = true;
    for (size_t i = 0, from = 0; i <= cuts.size(); ++i) {
      const size_t end = i < cuts.size() ? cuts[i] : frame.size();
      fits_mbufs &= end - from <= 2000;
      from = end;
    }
    const uint32_t step = (record().mtu - 20u) / 8 * 8;
    if (!fits_mbufs || frame.size() - l2_length <= record().mtu ||
        (options.payload_bytes + step - 1) / step > kMostFragments)
      continue;
    const auto sent = leave(packet(frame, cuts), l2_length);
    ASSERT_EQ(refused(), Reason::kNone) << "round " << round;
    ASSERT_EQ(sent.size(), (options.payload_bytes + step - 1) / step);
    expect_as_one(frame, l2_length, sent);
    fragments += sent.size() - 1;
    ASSERT_EQ(reasons_->fragments.get(), fragments);
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(fragments, 5000u);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST_F(Fragments, OfFragmentsAreFragments) {
  record().mtu = 576;
  const Frame frame = ipv4_frame({.payload_bytes = 1480});
  std::vector<Frame> once = leave(packet(frame));
  ASSERT_EQ(once.size(), 3u);
  record().mtu = 100;
  std::vector<Frame> twice;
  for (Frame& each : once)
    for (Frame& piece : leave(packet(each))) twice.push_back(piece);
  EXPECT_EQ(twice.size(), 7u + 7u + 5u);
  bool more = true;
  const Ip whole(frame, 14);
  EXPECT_EQ(put_together(twice, 14, 0, &more),
            std::vector<uint8_t>(whole.data(), whole.data() + whole.bytes()));
  EXPECT_FALSE(more);
  EXPECT_EQ(reasons_->fragments.get(), 2u + 16u);
}

TEST_F(Fragments, AreCountedWhereTheyLeave) {
  record().mtu = 576;
  (void)leave(packet(ipv4_frame({.payload_bytes = 1480})));
  EXPECT_EQ((*interfaces_)[1].tx_packets.get(), 3u);
  EXPECT_EQ((*interfaces_)[1].tx_bytes.get(), 1480u + 3 * 20);
}

TEST_F(Fragments, WhatMayNotBeCutIsForLinux) {
  const auto left_alone = [&](const FrameOptions& options, uint16_t mtu) {
    record().mtu = mtu;
    const Frame frame = ipv4_frame(options);
    EXPECT_TRUE(leave(packet(frame)).empty());
    const Reason reason = refused();
    EXPECT_EQ(refused_frame_, frame);
    return reason;
  };
  EXPECT_EQ(left_alone({.payload_bytes = 1480, .flags_and_offset = kDontFragment}, 1400),
            Reason::kTooBig);
  EXPECT_EQ(left_alone({.payload_bytes = 1480}, 67), Reason::kTooBig) << "below what IPv4 has";
  EXPECT_EQ(left_alone({.payload_bytes = 1480}, 0), Reason::kTooBig);
  EXPECT_EQ(left_alone({.payload_bytes = 1480}, 20), Reason::kTooBig);
  EXPECT_EQ(left_alone({.ttl = 1, .payload_bytes = 1480}, 1400), Reason::kTtlExpired);
}

TEST_F(Fragments, NoPacketBecomesMoreThanABurst) {
  record().mtu = 68;  // 48 bytes of data each
  const auto frame = [](uint16_t data) { return ipv4_frame({.payload_bytes = data}); };
  EXPECT_EQ(leave(packet(frame(48 * 64), {1500})).size(), 64u);
  EXPECT_EQ(refused(), Reason::kNone);
  EXPECT_TRUE(leave(packet(frame(48 * 64 + 1), {1500})).empty());
  EXPECT_EQ(refused(), Reason::kTooBig);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST_F(Fragments, WhatWouldEndBeyondTheLongestDatagramIsDropped) {
  record().mtu = 576;
  // 65,535 is the last byte that there is: 8191 * 8 + 7.
  const auto at = [](uint16_t offset, uint16_t bytes) {
    return ipv4_frame(
        {.payload_bytes = bytes, .flags_and_offset = static_cast<uint16_t>(0x2000 | offset)});
  };
  const auto fits = static_cast<uint16_t>((65535 - 20 - 1000) / 8);
  const Frame last = at(fits, 1000);
  expect_as_one(last, 14, leave(packet(last)));
  EXPECT_EQ(refused(), Reason::kNone);
  for (const Frame& forged : {at(static_cast<uint16_t>(fits + 1), 1000), at(kOffset, 1000)}) {
    EXPECT_TRUE(leave(packet(forged)).empty());
    EXPECT_EQ(refused(), Reason::kBadFragment);
    EXPECT_EQ(refused_frame_, forged);
  }
  record().mtu = 1500;
  EXPECT_EQ(leave(packet(at(kOffset, 1000))).size(), 1u) << "what fits is not looked at";
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST_F(Fragments, AnEmptyPoolIsACountedDropAndTheNextOneIsCut) {
  record().mtu = 576;
  const Frame frame = ipv4_frame({.payload_bytes = 1480});
  rte_mbuf* first = packet(frame);
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool())) all.push_back(mbuf);
  rte_pktmbuf_free(all.back());  // one of the two that it needs
  all.pop_back();
  EXPECT_TRUE(leave(first).empty());
  EXPECT_EQ(refused(), Reason::kFragmentMbuf);
  EXPECT_EQ(refused_frame_, frame);
  EXPECT_EQ(reasons_->fragments.get(), 0u);
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
  expect_as_one(frame, 14, leave(packet(frame)));
  EXPECT_EQ(mbufs_in_use(), 0u);
}

// As many as a chunk holds, each in many pieces, into a queue that is full: what does not leave is back
// in its pool, and nothing is left over.
TEST_F(Fragments, AFloodTakesNoMoreOfThePoolThanTheQueueHolds) {
  record().mtu = 68;
  for (int i = 0; i < 200; ++i) {
    chunk_->refused_count = 0;
    chunk_->v4.count = 1;
    chunk_->v4.packets[0] = packet(ipv4_frame({.payload_bytes = 1480}));
    chunk_->v4.groups[0] = 1;
    chunk_->v4.ingress[0] = {0, kEthernetBytes};
    rewrite(chunk_->v4, *chunk_, {slots_.data(), records_.data(), nullptr}, *transmitter_,
            snapshot_, *interfaces_, {});
    ASSERT_EQ(chunk_->refused_count, 0u);
  }
  transmitter_->flush_all();
  EXPECT_EQ(mbufs_in_use(), 1023u) << "the ring's";
  EXPECT_EQ(reasons_->dropped[static_cast<size_t>(Reason::kTransmitFull)].get(), 200u * 31 - 1023);
  EXPECT_EQ(reasons_->fragments.get(), 200u * 30);
  for (void* each = nullptr; rte_ring_dequeue(paths_[kPort].handoff, &each) == 0;)
    rte_pktmbuf_free(static_cast<rte_mbuf*>(each));
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST_F(Fragments, OfWhatGoesBackItsSenderIsToldByLinux) {
  record().mtu = 576;
  record().interface = 0;
  snapshot_.interfaces[0].redirects4 = true;
  redirects_->configure(uint64_t{1} << 40, 100, 1, 0);
  const auto again = [&] { return leave(packet(ipv4_frame({.payload_bytes = 1480}))).size(); };
  EXPECT_EQ(again(), 0u);
  EXPECT_EQ(refused(), Reason::kRedirect);
  EXPECT_EQ(again(), 3u);
  EXPECT_EQ(refused(), Reason::kNone);
}

TEST(FragmentIpv4, LeavesOptionsToLinux) {
  Frame frame = ipv4_frame({.payload_bytes = 1480});
  frame[14] = 0x46;
  fix_checksum(frame);
  rte_mbuf* const m = packet(frame);
  rte_mbuf* rest[8];
  EXPECT_FALSE(may_be_cut(frame.data() + 14, 1500, 576));
  EXPECT_EQ(fragment_ipv4(m, 14, 576, 1, rest), 0u);
  EXPECT_EQ(bytes_of(m), frame);
  rte_pktmbuf_free(m);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
