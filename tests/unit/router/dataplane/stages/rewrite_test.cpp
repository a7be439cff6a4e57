#include "router/dataplane/stages/rewrite.hpp"

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "router/dataplane/observe/trace.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;

// Next hops without a table: slots are identities.
struct NextHops {
  std::vector<uint32_t> slots = std::vector<uint32_t>(16);
  std::vector<NextHopRecord> records = std::vector<NextHopRecord>(16);
  std::vector<lookup::GroupId> buckets = std::vector<lookup::GroupId>(16);
  NextHops() {
    for (uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
  }
  lookup::NextHopView view() const { return {slots.data(), records.data(), buckets.data()}; }
  NextHopRecord& forward(unsigned group, PortId port, uint16_t vlan = 0) {
    NextHopRecord& r = records[group];
    r = {};
    r.interface = 1;  // packets come in by 0
    r.kind = RecordKind::kForward;
    r.port = port;
    r.mtu = 1500;
    const uint8_t macs[12] = {0x02, 0, 0, 0, 0, 0x0a, 0x02, 0, 0, 0, 0, 0x0b};
    std::memcpy(r.header, macs, 12);
    r.header_length = vlan == 0 ? 14 : 18;
    uint8_t* type = r.header + 12;
    if (vlan != 0) {
      const uint16_t tag[2] = {kEtherVlan, __builtin_bswap16(vlan)};
      std::memcpy(type, tag, 4);
      type += 4;
    }
    std::memcpy(type, &kEtherIpv4, 2);
    return r;
  }
};

class RewriteTest : public testing::Test {
 protected:
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  std::unique_ptr<std::array<PortCounters, kMaxPorts>> ports_ =
      std::make_unique<std::array<PortCounters, kMaxPorts>>();
  std::unique_ptr<ReasonCounters> reasons_ = std::make_unique<ReasonCounters>();
  std::unique_ptr<std::array<InterfaceCounters, kMaxInterfaces>> interfaces_ =
      std::make_unique<std::array<InterfaceCounters, kMaxInterfaces>>();
  std::unique_ptr<Transmitter> transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
  Snapshot snapshot_;
  NextHops next_hops_;
  std::unique_ptr<AnswerLimit> redirects_ = std::make_unique<AnswerLimit>();

  rte_mbuf* run4(const Frame& frame, lookup::GroupId group, uint8_t l2_length = 14) {
    rte_mbuf* m = packet(frame);
    chunk_->refused_count = 0;
    chunk_->v4.count = 1;
    chunk_->v4.packets[0] = m;
    chunk_->v4.groups[0] = group;
    chunk_->v4.ingress[0] = {0, l2_length};
    rewrite(chunk_->v4, *chunk_, next_hops_.view(), *transmitter_, snapshot_, *interfaces_,
            {redirects_.get()});
    return m;
  }
  Reason refused() const {
    return chunk_->refused_count == 0 ? Reason::kNone : chunk_->refused[0].reason;
  }
};

TEST_F(RewriteTest, WritesHeaderTtlAndChecksum) {
  next_hops_.forward(3, 7);
  rte_mbuf* m = run4(ipv4_frame({.ttl = 64}), 3);
  EXPECT_EQ(refused(), Reason::kNone);
  EXPECT_EQ(transmitter_->queued(7).size(), 1u);
  EXPECT_EQ(transmitter_->queued(7)[0], m);
  const Frame out = bytes_of(m);
  EXPECT_EQ(std::memcmp(out.data(), next_hops_.records[3].header, 14), 0);
  EXPECT_EQ(out[14 + 8], 63);
  EXPECT_EQ(full_checksum(out.data() + 14, 20), 0);
  EXPECT_EQ(out.size(), ipv4_frame().size());
  rte_pktmbuf_free(m);
}

TEST_F(RewriteTest, OfWhatGoesBackLinuxGetsOneASecondAndSource) {
  next_hops_.forward(3, 7).interface = 0;
  redirects_->configure(uint64_t{1} << 40, 100, 1, 0);  // a second lasts longer than the test
  const auto reason = [&](const FrameOptions& options) {
    transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
    rte_mbuf* m = run4(ipv4_frame(options), 3);
    const bool sent = transmitter_->queued(7).size() == 1;
    EXPECT_EQ(sent, refused() == Reason::kNone);
    EXPECT_EQ(bytes_of(m)[22], sent ? options.ttl - 1 : options.ttl);
    rte_pktmbuf_free(m);
    return refused();
  };
  EXPECT_EQ(reason({}), Reason::kNone) << "nobody is told";
  snapshot_.interfaces[0].redirects6 = true;
  EXPECT_EQ(reason({}), Reason::kNone) << "of the other family alone";
  snapshot_.interfaces[0].redirects4 = true;
  EXPECT_EQ(reason({.ttl = 1}), Reason::kTtlExpired);
  EXPECT_EQ(reason({.payload_bytes = 1600, .flags_and_offset = kDontFragment}), Reason::kTooBig);
  EXPECT_EQ(reason({}), Reason::kRedirect);
  EXPECT_EQ(reason({}), Reason::kNone) << "of the same source";
  EXPECT_EQ(reason({.source = "198.51.100.3"}), Reason::kRedirect);
  next_hops_.records[3].interface = 1;
  EXPECT_EQ(reason({.source = "198.51.100.4"}), Reason::kNone) << "leaves by another interface";
}

TEST_F(RewriteTest, WithoutALimitNobodyIsTold) {
  next_hops_.forward(3, 7).interface = 0;
  snapshot_.interfaces[0].redirects4 = true;
  redirects_.reset();
  rte_mbuf* m = run4(ipv4_frame(), 3);
  EXPECT_EQ(refused(), Reason::kNone);
  rte_pktmbuf_free(m);
}

TEST_F(RewriteTest, UpdatesEveryChecksumAsIfRecomputed) {
  next_hops_.forward(3, 7);
  std::mt19937 random(11);
  for (int i = 0; i < 5000; ++i) {
    Frame frame = ipv4_frame({.ttl = static_cast<uint8_t>(2 + random() % 254)});
    frame[18] = static_cast<uint8_t>(random());
    frame[19] = static_cast<uint8_t>(random());
    fix_checksum(frame);
    Frame wanted = frame;
    --wanted[22];
    fix_checksum(wanted);
    transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
    rte_mbuf* m = run4(frame, 3);
    const Frame out = bytes_of(m);
    ASSERT_EQ(load16_native(&out[24]), load16_native(&wanted[24]))
        << "identification " << int{frame[18]};
    rte_pktmbuf_free(m);
  }
}

// A lane at once against the same packets one after the other.
class RewriteLanes : public RewriteTest {
 protected:
  static constexpr unsigned kPorts = 4;
  // 0 to 3 forward untagged, 4 tagged, 5 by the interface that packets come in by, 6 what is short;
  // 7 punts, 8 drops, 9 spreads.
  RewriteLanes() {
    for (const uint16_t group : {0, 1, 2, 3}) next_hops_.forward(group, PortId(group));
    next_hops_.forward(4, 1, 300);
    next_hops_.forward(5, 2).interface = 0;
    next_hops_.forward(6, 3).mtu = 68;
    next_hops_.records[7].kind = RecordKind::kPunt;
    next_hops_.records[8].kind = RecordKind::kDrop;
    next_hops_.records[9].kind = RecordKind::kMultipath;
    next_hops_.records[9].bucket_mask = 3;
    for (unsigned i = 0; i < 4; ++i) next_hops_.buckets[i] = lookup::GroupId(i);
    for (unsigned port = 0; port < kPorts; ++port) {
      paths_[port].queue = 0;
      paths_[port].handoff = rte_ring_create(("lanes-" + std::to_string(port)).c_str(), 512,
                                             SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    }
  }
  ~RewriteLanes() override {
    for (unsigned port = 0; port < kPorts; ++port) rte_ring_free(paths_[port].handoff);
  }
  struct Packet {
    Frame frame;
    std::vector<size_t> cuts;
    uint8_t l2_length;
    lookup::GroupId group;
  };
  // Mostly what is ordinary, so that both ways are taken within a lane.
  Packet any(std::mt19937& random, bool ipv6, bool tags) {
    const bool odd = random() % 8 == 0;
    FrameOptions options;
    options.payload_bytes = static_cast<uint16_t>(random() % 100);
    options.ttl = static_cast<uint8_t>(odd ? random() % 4 : 2 + random() % 254);
    options.vlan = tags && random() % 2 == 0 ? 100 : 0;
    if (options.vlan != 0 && random() % 2 == 0) options.outer_vlan = 7;
    Packet out{ipv6 ? ipv6_frame(options) : ipv4_frame(options), {}, 14, 0};
    out.l2_length = options.vlan == 0 ? 14 : options.outer_vlan == 0 ? 18 : 22;
    // The IP header is in one segment.
    if (odd && random() % 4 == 0 && options.payload_bytes > 0) out.cuts = {out.frame.size() - 1};
    out.group = static_cast<lookup::GroupId>(odd ? random() % 10 : random() % 4);
    return out;
  }
  std::array<TransmitPath, kMaxPorts> paths_;  // all into rings
  struct Outcome {
    std::vector<Frame> sent[kPorts];
    std::vector<std::pair<Reason, Frame>> refused;
    bool operator==(const Outcome&) const = default;
  };
  template <typename Address>
  Outcome outcome(Lane<Address>& lane, std::span<const Packet> packets, bool at_once) {
    *redirects_ = {};
    redirects_->configure(uint64_t{1} << 40, 100, 1, 0);  // a second lasts longer than the test
    transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
    transmitter_->use(&paths_);
    chunk_->refused_count = 0;
    lane.count = 0;
    for (const Packet& each : packets) {
      lane.packets[lane.count] = packet(each.frame, each.cuts);
      lane.groups[lane.count] = each.group;
      lane.ingress[lane.count++] = {0, each.l2_length};
    }
    const lookup::NextHopView hops = next_hops_.view();
    if (at_once)
      rewrite(lane, *chunk_, hops, *transmitter_, snapshot_, *interfaces_, {redirects_.get()});
    else
      for (unsigned i = 0; i < lane.count; ++i)
        rewrite_detail::rewrite_one(
            lane, i, {*chunk_, hops, *transmitter_, snapshot_, *interfaces_, {redirects_.get()}});
    Outcome out;
    transmitter_->flush_all();
    for (unsigned port = 0; port < kPorts; ++port)
      for (void* each = nullptr; rte_ring_dequeue(paths_[port].handoff, &each) == 0;) {
        out.sent[port].push_back(bytes_of(static_cast<rte_mbuf*>(each)));
        rte_pktmbuf_free(static_cast<rte_mbuf*>(each));
      }
    for (unsigned i = 0; i < chunk_->refused_count; ++i) {
      out.refused.emplace_back(chunk_->refused[i].reason, bytes_of(chunk_->refused[i].packet));
      rte_pktmbuf_free(chunk_->refused[i].packet);
    }
    return out;
  }
};

TEST_F(RewriteLanes, ALaneAtOnceIsAsItsPacketsOneAfterTheOther) {
  std::mt19937 random(13);
  for (int round = 0; round < 800; ++round) {
    const bool ipv6 = round % 2 == 1, tags = round % 4 >= 2, redirects = round % 8 >= 4;
    snapshot_.interfaces[0].redirects4 = snapshot_.interfaces[0].redirects6 = redirects;
    const bool long_to_one_port = round % 5 == 0;
    std::vector<Packet> packets;
    for (unsigned i = long_to_one_port ? 200 : 1 + random() % 60; i > 0; --i) {
      packets.push_back(any(random, ipv6, tags));
      if (long_to_one_port) packets.back().group = lookup::GroupId(redirects ? 5 : 1);
    }
    const auto outcome_of = [&](bool at_once) {
      return ipv6 ? outcome(chunk_->v6, packets, at_once) : outcome(chunk_->v4, packets, at_once);
    };
    ASSERT_TRUE(outcome_of(true) == outcome_of(false)) << "round " << round;
  }
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST_F(RewriteTest, PutsOnAndTakesOffTags) {
  next_hops_.forward(3, 7, 200);
  next_hops_.forward(4, 7);
  rte_mbuf* tagged = run4(ipv4_frame(), 3);
  Frame out = bytes_of(tagged);
  EXPECT_EQ(out.size(), ipv4_frame().size() + 4);
  EXPECT_EQ(std::memcmp(out.data(), next_hops_.records[3].header, 18), 0);
  EXPECT_EQ(out[18], 0x45);
  rte_pktmbuf_free(tagged);
  rte_mbuf* untagged = run4(ipv4_frame({.vlan = 100}), 4, 18);
  out = bytes_of(untagged);
  EXPECT_EQ(out.size(), ipv4_frame().size());
  EXPECT_EQ(std::memcmp(out.data(), next_hops_.records[4].header, 14), 0);
  EXPECT_EQ(out[14], 0x45);
  rte_pktmbuf_free(untagged);
}

// Each length of header from each other one.
TEST_F(RewriteTest, WritesTwoTags) {
  const VlanTags kAll[] = {{}, {100, 0, false}, {100, 0, true}, {10, 100, false}, {10, 100, true}};
  for (const VlanTags& from : kAll)
    for (const VlanTags& to : kAll) {
      Frame wanted = ipv4_frame(
          {.ttl = 63, .vlan = to.vlan, .outer_vlan = to.outer_vlan, .service = to.service});
      lookup::NextHopRecord& record = next_hops_.forward(3, 7);
      const unsigned length = kEthernetBytes + to.count() * kVlanTagBytes;
      std::memcpy(record.header, wanted.data(), length);
      record.header_length = static_cast<uint8_t>(length);
      transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
      rte_mbuf* const sent = run4(
          ipv4_frame({.vlan = from.vlan, .outer_vlan = from.outer_vlan, .service = from.service}),
          3, static_cast<uint8_t>(kEthernetBytes + from.count() * 4));
      EXPECT_EQ(bytes_of(sent), wanted) << to_string(from) << " to " << to_string(to);
      EXPECT_EQ(sent->pkt_len, wanted.size());
      rte_pktmbuf_free(sent);
    }
}

TEST_F(RewriteTest, RefusesExpiredTooBigAndVerdicts) {
  next_hops_.forward(3, 7).mtu = 100;
  next_hops_.records[5].kind = RecordKind::kPunt;
  next_hops_.records[5].reason = static_cast<uint8_t>(Reason::kGlean);
  next_hops_.records[6].kind = RecordKind::kDrop;
  next_hops_.records[6].reason = static_cast<uint8_t>(Reason::kBlackhole);
  const auto check = [this](const Frame& frame, lookup::GroupId group, Reason reason) {
    rte_mbuf* m = run4(frame, group);
    EXPECT_EQ(refused(), reason);
    EXPECT_EQ(bytes_of(m), frame) << "a refused packet is as it came";
    rte_pktmbuf_free(m);
  };
  check(ipv4_frame({.ttl = 1}), 3, Reason::kTtlExpired);
  check(ipv4_frame({.ttl = 0}), 3, Reason::kTtlExpired);
  check(ipv4_frame({.payload_bytes = 81, .flags_and_offset = kDontFragment}), 3, Reason::kTooBig);
  check(ipv4_frame({.ttl = 1, .payload_bytes = 81}), 3, Reason::kTtlExpired);
  check(ipv4_frame(), 5, Reason::kGlean);
  check(ipv4_frame(), 6, Reason::kBlackhole);
  EXPECT_EQ(transmitter_->queued(7).size(), 0u);
}

TEST_F(RewriteTest, SpreadsFlowsOverBuckets) {
  next_hops_.forward(3, 1);
  next_hops_.forward(4, 2);
  next_hops_.records[9].kind = RecordKind::kMultipath;
  next_hops_.records[9].bucket_mask = 15;
  for (unsigned i = 0; i < 16; ++i) next_hops_.buckets[i] = lookup::GroupId(i % 2 == 0 ? 3 : 4);
  unsigned by_port[3] = {};
  for (unsigned flow = 0; flow < 60; ++flow) {
    Frame frame = ipv4_frame();
    frame[34] = static_cast<uint8_t>(flow);  // source port
    for (int repeat = 0; repeat < 2; ++repeat) {
      transmitter_ = std::make_unique<Transmitter>(*ports_, *reasons_);
      rte_mbuf* m = run4(frame, 9);
      static unsigned first;
      const unsigned port = transmitter_->queued(1).size() == 1 ? 1 : 2;
      if (repeat == 0) ++by_port[first = port];
      EXPECT_EQ(port, first) << "a flow keeps its way";
      rte_pktmbuf_free(m);
    }
  }
  EXPECT_GT(by_port[1], 15u);
  EXPECT_GT(by_port[2], 15u);
}

// Flows that the first box sends to one of four members, at a second one behind it, with `bits` of
// RSS that both NICs give alike.
std::array<unsigned, 4> spread_behind(uint32_t first_seed, uint32_t second_seed, bool rss) {
  std::array<unsigned, 4> by_member{};
  rte_mbuf* m = packet(ipv4_frame({}));
  uint8_t* ip = rte_pktmbuf_mtod(m, uint8_t*) + 14;
  std::mt19937 random(7);
  for (unsigned i = 0; i < 20'000; ++i) {
    const uint32_t from = random();
    std::memcpy(ip + 12, &from, sizeof from);
    m->ol_flags = rss ? RTE_MBUF_F_RX_RSS_HASH : 0;
    m->hash.rss = from * 2654435761u;
    const auto bucket = [&](uint32_t seed) { return flow_hash4(m, ip, 64, seed) & 63; };
    if (bucket(first_seed) % 4 == 0) ++by_member[bucket(second_seed) % 4];
  }
  rte_pktmbuf_free(m);
  return by_member;
}

TEST(FlowHash, BoxesInARowUseAllOfTheirPaths) {
  for (const bool rss : {false, true}) {
    for (const uint32_t seed : {1u, 2u, 0x80000000u, 0xdeadbeefu}) {
      const auto by_member = spread_behind(0, seed, rss);
      for (const unsigned flows : by_member) {
        EXPECT_GT(flows, 1100u) << seed << (rss ? " RSS" : "");  // 1,250 if spread evenly
        EXPECT_LT(flows, 1400u) << seed << (rss ? " RSS" : "");
      }
    }
    EXPECT_EQ(spread_behind(5, 5, rss)[1], 0u) << "the same seed is what must not be";
  }
}

TEST(FlowHash, FragmentsOfADatagramStayTogether) {
  Frame first = ipv4_frame({.payload_bytes = 64});
  first[20] = 0x20;  // more fragments
  Frame last = first;
  last[20] = 0;
  last[21] = 8;   // offset
  last[34] = 99;  // what looks like a port is payload
  rte_mbuf* a = packet(first);
  rte_mbuf* b = packet(last);
  const auto hash = [](const rte_mbuf* m) {
    return flow_hash4(m, rte_pktmbuf_mtod(m, const uint8_t*) + 14, m->pkt_len - 14, 1);
  };
  EXPECT_EQ(hash(a), hash(b));
  rte_pktmbuf_free(a);
  rte_pktmbuf_free(b);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
