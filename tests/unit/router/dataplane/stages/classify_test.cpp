#include "router/dataplane/stages/classify.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/classify_bed.hpp"

namespace hecto::router::test {
namespace {

Reason reason_of(const Frame& frame) {
  Bed bed;
  return verdict(bed, frame).reason;
}

Frame changed(Frame frame, size_t at, uint8_t value, bool checksum = true) {
  frame.at(at) = value;
  if (checksum) fix_checksum(frame);
  return frame;
}

TEST(Classify, ClearsOrdinaryPackets) {
  Bed bed;
  EXPECT_EQ(verdict(bed, ipv4_frame()).reason, Reason::kNone);
  EXPECT_EQ(verdict(bed, ipv6_frame()).reason, Reason::kNone);
  EXPECT_EQ(verdict(bed, ipv4_frame()).interface, 0);
}

// Where its NIC says so and the port takes its word; all else is checked here.
TEST(Classify, TakesAGoodChecksumFromTheNic) {
  constexpr uint64_t kGood = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
  Bed bed;
  const Frame broken = changed(ipv4_frame(), 24, 0x55, false);
  EXPECT_EQ(verdict(bed, broken, {}, kGood).reason, Reason::kBadChecksum);
  bed.snapshot.ports[0].trusts_checksums = true;
  EXPECT_EQ(verdict(bed, broken, {}, kGood).reason, Reason::kNone);
  EXPECT_EQ(verdict(bed, broken, {}, kGood | RTE_MBUF_F_RX_RSS_HASH).reason, Reason::kNone);
  const std::vector<uint64_t> others = {0, RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_NONE,
                                        kGood | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD};
  for (const uint64_t flags : others) {
    EXPECT_EQ(verdict(bed, broken, {}, flags).reason, Reason::kBadChecksum) << flags;
    EXPECT_EQ(verdict(bed, ipv4_frame(), {}, flags).reason, Reason::kNone) << flags;
  }
  const auto odd = changed(changed(ipv4_frame(), 14, 0x46, false), 24, 0x55, false);
  EXPECT_NE(verdict(bed, odd, {}, kGood).reason, Reason::kNone) << "and only of ordinary packets";
}

// It was said of the packet that this one came out of.
TEST(Classify, AnInnerPacketIsCheckedWhateverTheNicSaid) {
  Bed bed;
  bed.snapshot.ports[0].trusts_checksums = true;
  Chunk chunk;
  rte_mbuf* const inner = packet(changed(ipv4_frame(), 24, 0x55, false));
  inner->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
  classify_again(chunk, inner, Ingress(0, kEthernetBytes), bed.port(), bed.snapshot);
  ASSERT_EQ(chunk.refused_count, 1u);
  EXPECT_EQ(chunk.refused[0].reason, Reason::kBadChecksum);
  rte_pktmbuf_free(inner);
}

TEST(Classify, KeepsTtlForRewrite) {
  // A packet for the router itself may arrive with a TTL of 1.
  EXPECT_EQ(reason_of(ipv4_frame({.ttl = 1})), Reason::kNone);
  EXPECT_EQ(reason_of(ipv4_frame({.ttl = 0})), Reason::kNone);
}

TEST(Classify, NamesBrokenIpv4) {
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 14, 0x65)), Reason::kBadVersion);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 14, 0x44)), Reason::kBadHeaderLength);
  EXPECT_EQ(reason_of(changed(ipv4_frame({.payload_bytes = 0}), 14, 0x4f, false)),
            Reason::kTruncated);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 16, 0x40)), Reason::kBadTotalLength);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 17, 19)), Reason::kBadTotalLength);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 24, 0x55, false)), Reason::kBadChecksum);
  EXPECT_EQ(reason_of(Frame(13, 0)), Reason::kTruncated);
  Frame cut = ipv4_frame();
  cut.resize(14 + 19);
  EXPECT_EQ(reason_of(cut), Reason::kTruncated);
  EXPECT_EQ(reason_of(Frame{}), Reason::kTruncated);
}

TEST(Classify, NamesBrokenIpv6) {
  EXPECT_EQ(reason_of(changed(ipv6_frame(), 14, 0x40, false)), Reason::kBadVersion);
  EXPECT_EQ(reason_of(changed(ipv6_frame(), 18, 0x40, false)), Reason::kBadTotalLength);
  Frame cut = ipv6_frame();
  cut.resize(14 + 39);
  EXPECT_EQ(reason_of(cut), Reason::kTruncated);
}

TEST(Classify, NamesMartians) {
  for (const char* source : {"0.1.2.3", "127.0.0.1", "224.0.0.5", "240.0.0.1", "255.255.255.255"})
    EXPECT_EQ(reason_of(ipv4_frame({.source = source})), Reason::kMartianSource) << source;
  for (const char* destination : {"0.1.2.3", "127.0.0.1", "240.0.0.1"})
    EXPECT_EQ(reason_of(ipv4_frame({.destination = destination})), Reason::kMartianDestination)
        << destination;
  for (const char* source : {"::1", "ff02::1", "::ffff:1.2.3.4", "::"})
    EXPECT_EQ(reason_of(ipv6_frame({.source = source})), Reason::kMartianSource) << source;
  for (const char* destination : {"::1", "::", "::ffff:1.2.3.4"})
    EXPECT_EQ(reason_of(ipv6_frame({.destination = destination})), Reason::kMartianDestination)
        << destination;
}

TEST(Classify, NamesLoops) {
  EXPECT_EQ(reason_of(ipv4_frame({.source = "203.0.113.9"})), Reason::kLooped);
  EXPECT_EQ(reason_of(ipv6_frame({.source = "2001:db8:2::9"})), Reason::kLooped);
  EXPECT_EQ(reason_of(ipv4_frame({.from = kPortMac})), Reason::kLooped);
}

TEST(Classify, PuntsWhatLinuxKnows) {
  const MacAddress broadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const MacAddress group = {0x01, 0, 0x5e, 0, 0, 5};
  EXPECT_EQ(reason_of(ipv4_frame({.to = group, .destination = "224.0.0.5"})), Reason::kMulticast);
  EXPECT_EQ(reason_of(ipv6_frame({.to = {0x33, 0x33, 0, 0, 0, 1}, .destination = "ff02::1"})),
            Reason::kMulticast);
  EXPECT_EQ(reason_of(ipv6_frame(
                {.to = {0x33, 0x33, 0, 0, 0, 1}, .source = "::", .destination = "ff02::1:ff00:1"})),
            Reason::kMulticast);
  EXPECT_EQ(reason_of(ipv4_frame(
                {.to = broadcast, .source = "0.0.0.0", .destination = "255.255.255.255"})),
            Reason::kBroadcast);
  EXPECT_EQ(reason_of(ipv4_frame({.to = broadcast})), Reason::kBroadcast);
  EXPECT_EQ(reason_of(ipv4_frame({.destination = "169.254.1.1"})), Reason::kLinkLocal);
  EXPECT_EQ(reason_of(ipv4_frame({.destination = "169.253.1.1"})), Reason::kNone);
  EXPECT_EQ(reason_of(ipv6_frame({.destination = "fe80::1"})), Reason::kLinkLocal);
  EXPECT_EQ(reason_of(ipv6_frame({.protocol = 0})), Reason::kOptions);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 14, 0x46)), Reason::kOptions);
  EXPECT_EQ(reason_of(changed(ipv4_frame(), 13, 0x06, false)), Reason::kArp);
  EXPECT_EQ(reason_of(changed(changed(ipv4_frame(), 12, 0x88, false), 13, 0xcc, false)),
            Reason::kOtherProtocol);
}

TEST(Classify, LooksAtTheMac) {
  EXPECT_EQ(reason_of(ipv4_frame({.to = kHostMac, .from = {0x02, 9, 9, 9, 9, 9}})),
            Reason::kNotForUs);
}

// A macvlan's, untagged and on a VLAN, beside the port's own.
constexpr MacAddress kMacvlan = {0x00, 0x00, 0x5e, 0x00, 0x01, 0x33};
constexpr MacAddress kVlanMac = {0x02, 7, 7, 7, 7, 7};

Bed bed_with_stations() {
  Bed bed;
  auto vlans = std::make_shared<std::array<InterfaceId, 4096>>();
  vlans->fill(kNoInterface);
  (*vlans)[100] = 3;
  const auto word = [](const MacAddress& mac) {
    uint64_t value = 0;
    std::memcpy(&value, mac.data(), mac.size());
    return value;
  };
  std::vector<StationView> stations = {{word(kMacvlan), 2, {}},
                                       {word(kVlanMac), kNoInterface, {vlans, nullptr}}};
  std::sort(stations.begin(), stations.end(),
            [](const StationView& a, const StationView& b) { return a.mac < b.mac; });
  bed.port().stations = std::make_shared<const std::vector<StationView>>(stations);
  bed.snapshot.interfaces[2].up = bed.snapshot.interfaces[3].up = true;
  return bed;
}

TEST(Classify, TakesWhatIsForAnotherAddressOfThePort) {
  Bed bed = bed_with_stations();
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kMacvlan})).interface, 2);
  EXPECT_EQ(verdict(bed, ipv6_frame({.to = kMacvlan})).interface, 2);
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kVlanMac, .vlan = 100})).interface, 3);
  EXPECT_EQ(verdict(bed, ipv4_frame({.vlan = 100})).interface, 1);
  EXPECT_EQ(verdict(bed, ipv4_frame()).interface, 0);
  // Only where it is, and not what is another's.
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kMacvlan, .vlan = 100})).reason, Reason::kNotForUs);
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kVlanMac})).reason, Reason::kNotForUs);
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kHostMac})).reason, Reason::kNotForUs);
  // VRRP's routers have an address in common, the port's is nobody else's.
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kMacvlan, .from = kMacvlan})).reason, Reason::kNone);
  EXPECT_EQ(verdict(bed, ipv4_frame({.to = kMacvlan, .from = kPortMac})).reason, Reason::kLooped);
}

// Whatever the first packet is for, which the fast loop goes by.
TEST(Classify, SeveralAddressesInOneBurst) {
  for (const MacAddress& first : {kPortMac, kMacvlan, kVlanMac, kHostMac}) {
    Bed bed = bed_with_stations();
    static Chunk chunk;
    chunk.count = 0;
    unsigned wanted[4] = {}, refused = 0;
    for (unsigned i = 0; i < 40; ++i) {
      const MacAddress to =
          i == 0 ? first : std::array{kMacvlan, kMacvlan, kPortMac, kHostMac}[i % 4];
      chunk.packets[chunk.count++] = packet(ipv4_frame({.to = to}));
      if (to == kPortMac) ++wanted[0];
      if (to == kMacvlan) ++wanted[2];
      refused += to == kHostMac || to == kVlanMac;
    }
    classify<kFeatureVlan>(chunk, bed.port(), bed.snapshot);
    EXPECT_EQ(chunk.refused_count, refused);
    EXPECT_EQ(chunk.v4.count, 40 - refused);
    for (unsigned i = 0; i < chunk.v4.count; ++i) {
      const uint8_t* const frame = rte_pktmbuf_mtod(chunk.v4.packets[i], const uint8_t*);
      const bool own = std::equal(kPortMac.begin(), kPortMac.end(), frame);
      EXPECT_EQ(chunk.v4.ingress[i].interface(), own ? 0 : 2);
      --wanted[own ? 0 : 2];
    }
    EXPECT_EQ(wanted[0] + wanted[2], 0u);
    for (unsigned i = 0; i < 40; ++i) rte_pktmbuf_free(chunk.packets[i]);
  }
}

TEST(Classify, FindsTheVlan) {
  Bed bed;
  const Verdict tagged = verdict(bed, ipv4_frame({.vlan = 100}));
  EXPECT_EQ(tagged.reason, Reason::kNone);
  EXPECT_EQ(tagged.interface, 1);
  EXPECT_EQ(tagged.l2_length, 18);
  EXPECT_EQ(verdict(bed, ipv4_frame({.vlan = 101})).reason, Reason::kUnknownVlan);
  // The pipeline without VLANs asks `diagnose`, with the same answer.
  EXPECT_EQ(verdict<0>(bed, ipv6_frame({.vlan = 100})).interface, 1);
}

TEST(Classify, DropsOnADownInterface) {
  Bed bed;
  bed.port().untagged = kNoInterface;
  EXPECT_EQ(verdict(bed, ipv4_frame()).reason, Reason::kInterfaceDown);
  bed.port().tagged.vlans.reset();
  EXPECT_EQ(verdict<0>(bed, ipv4_frame()).reason, Reason::kInterfaceDown);
}

TEST(Classify, TellsADownVlanFromAnUnknownOne) {
  Bed bed;
  bed.snapshot.interfaces[0].up = bed.snapshot.interfaces[1].up = false;
  auto down = std::make_shared<std::array<InterfaceId, 4096>>();
  down->fill(kNoInterface);
  (*down)[0] = 0;
  (*down)[100] = 1;
  bed.port().untagged = kNoInterface;
  bed.port().tagged.vlans.reset();
  bed.port().down.vlans = down;
  const Verdict tagged = verdict(bed, ipv4_frame({.vlan = 100}));
  EXPECT_EQ(tagged.reason, Reason::kInterfaceDown);
  EXPECT_EQ(tagged.interface, 1);
  EXPECT_EQ(verdict(bed, ipv4_frame()).reason, Reason::kInterfaceDown);
  EXPECT_EQ(verdict(bed, ipv4_frame()).interface, 0);
  EXPECT_EQ(verdict(bed, ipv4_frame({.vlan = 101})).reason, Reason::kUnknownVlan);
}

TEST(Classify, TrimsPadding) {
  Bed bed;
  Frame padded = ipv4_frame({.payload_bytes = 4});
  padded.resize(60);
  EXPECT_EQ(verdict(bed, padded).bytes, 14u + 24);
  EXPECT_EQ(verdict(bed, padded, {40}).bytes, 14u + 24);
  EXPECT_EQ(verdict(bed, padded, {34, 50}).bytes, 14u + 24);
}

TEST(Classify, TakesSegmentsAndNamesSplitHeaders) {
  Bed bed;
  EXPECT_EQ(verdict(bed, ipv4_frame({.payload_bytes = 1000}), {500}).reason, Reason::kNone);
  EXPECT_EQ(verdict(bed, ipv4_frame(), {20}).reason, Reason::kSplitHeader);
  EXPECT_EQ(verdict(bed, ipv6_frame(), {50}).reason, Reason::kSplitHeader);
  EXPECT_EQ(verdict(bed, ipv4_frame(), {10}).reason, Reason::kSplitHeader);
}

// The fast loop may only clear what `diagnose` clears, and in the same way: packets are real ones
// with a few random changes.
void expect_agreement(Bed bed, std::mt19937& random) {
  unsigned cleared = 0;
  for (int i = 0; i < 200'000; ++i) {
    FrameOptions options;
    options.vlan = static_cast<uint16_t>(random() % 3 * 50);
    if (options.vlan != 0 && random() % 2 == 0) {
      options.vlan = random() % 2 == 0 ? 10 : 100;
      options.outer_vlan = random() % 2 == 0 ? 100 : 0;
      options.service = random() % 2 == 0;
    }
    Frame frame = random() % 2 == 0 ? ipv4_frame(options) : ipv6_frame(options);
    for (unsigned changes = random() % 3; changes > 0; --changes)
      frame[random() % std::min<size_t>(frame.size(), 58)] = static_cast<uint8_t>(random());
    if (random() % 8 == 0) frame.resize(random() % (frame.size() + 20));
    if (random() % 2 == 0 && frame.size() >= 34 && (frame[14] & 0xf) * 4u + 14 <= frame.size())
      fix_checksum(frame);
    rte_mbuf* m = packet(frame);
    const Diagnosis expected = diagnose(m, bed.port(), bed.snapshot);
    const uint32_t expected_bytes = m->pkt_len;
    rte_pktmbuf_free(m);
    const Verdict fast = verdict(bed, frame);
    ASSERT_EQ(fast.reason, expected.reason) << "try " << i;
    ASSERT_EQ(fast.interface, expected.interface) << "try " << i;
    if (expected.reason != Reason::kNone) continue;
    ASSERT_EQ(fast.bytes, expected_bytes);
    ASSERT_EQ(fast.l2_length, expected.l2_length);
    ++cleared;
  }
  EXPECT_GT(cleared, 20'000u);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST(Classify, FastLoopAgreesWithDiagnose) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  expect_agreement(Bed{}, random);
  expect_agreement(Bed::with_two_tags(), random);
}

}  // namespace
}  // namespace hecto::router::test
