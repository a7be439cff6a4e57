// Who gets fragments put together while others send forged ones.
#include "router/dataplane/stages/reassembly.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <tuple>

#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

constexpr unsigned kHonest = 10;

struct ReassemblyBed {
  ReassemblyBed() { pool(); }
  ~ReassemblyBed() { reassembly.reset(); }

  // One of two fragments of ESP; the first has 48 bytes of it, the last 26.
  static rte_mbuf* fragment(uint32_t source, uint16_t id, bool last, bool v6 = false) {
    FrameOptions options;
    options.protocol = 50;
    options.payload_bytes = last ? 26 : 48;
    Frame frame = v6 ? ipv6_frame([&] {
      FrameOptions six = options;
      six.source = "2001:db8::1";
      six.destination = "2001:db8::2";
      six.protocol = 44;
      six.payload_bytes = static_cast<uint16_t>(options.payload_bytes + 8);
      return six;
    }())
                     : ipv4_frame(options);
    uint8_t* ip = frame.data() + kEthernetBytes;
    if (v6) {
      std::memcpy(ip + 20, &source, 4);
      uint8_t* header = ip + kIpv6Bytes;
      const uint16_t field = last ? 48 : 1;
      const uint8_t bytes[8] = {
          50, 0, static_cast<uint8_t>(field >> 8), static_cast<uint8_t>(field),
          0,  0, static_cast<uint8_t>(id >> 8),    static_cast<uint8_t>(id)};
      std::memcpy(header, bytes, sizeof bytes);
      return packet(frame);
    }
    std::memcpy(ip + 12, &source, 4);
    ip[4] = static_cast<uint8_t>(id >> 8);
    ip[5] = static_cast<uint8_t>(id);
    ip[6] = last ? 0 : 0x20;
    ip[7] = last ? 48 / 8 : 0;
    fix_checksum(frame);
    return packet(frame);
  }

  // Both fragments of each of ten packets, with forged ones before, between and behind; how many
  // became whole.
  unsigned honest_through(uint32_t source, bool known, const std::function<void()>& forge,
                          bool v6 = false) {
    unsigned whole = 0;
    for (uint16_t id = 0; id < kHonest; ++id) {
      forge();
      EXPECT_EQ(take(fragment(source, id, false, v6), known, v6), nullptr);
      forge();
      rte_mbuf* made = take(fragment(source, id, true, v6), known, v6);
      whole += made != nullptr;
      rte_pktmbuf_free(made);
    }
    return whole;
  }

  rte_mbuf* take(rte_mbuf* packet, bool known, bool v6 = false) {
    return v6 ? reassembly->take6(packet, kEthernetBytes, known, *reasons)
              : reassembly->take4(packet, kEthernetBytes, known, *reasons);
  }
  uint64_t dropped() const {
    return reasons->dropped[static_cast<size_t>(Reason::kEspFragment)].get();
  }

  std::unique_ptr<Reassembly> reassembly = std::make_unique<Reassembly>();
  std::unique_ptr<ReasonCounters> reasons = std::make_unique<ReasonCounters>();
  uint16_t forged = 0;
};

constexpr uint32_t kPeer = 0x020200c0, kOther = 0x090200c0;

TEST(Reassembly, StrangersCannotTakeItFromAPeer) {
  ReassemblyBed bed;
  // First fragments of packets that never end, each of another source.
  const auto forge = [&] {
    for (unsigned i = 0; i < 200; ++i, ++bed.forged)
      bed.take(ReassemblyBed::fragment(0x01000000u + bed.forged * 65537u, bed.forged, false),
               false);
  };
  EXPECT_EQ(bed.honest_through(kPeer, true, forge), kHonest);
  EXPECT_EQ(bed.honest_through(kPeer, true, forge, true), kHonest);
  EXPECT_EQ(bed.reassembly->held(), Reassembly::kMostOfOthers);
}

TEST(Reassembly, OnePeerCannotTakeItFromAnother) {
  ReassemblyBed bed;
  const auto forge = [&] {
    for (unsigned i = 0; i < 200; ++i, ++bed.forged)
      bed.take(ReassemblyBed::fragment(kOther, bed.forged, false), true);
  };
  EXPECT_EQ(bed.honest_through(kPeer, true, forge), kHonest);
  EXPECT_EQ(bed.reassembly->held(), Reassembly::kMostOfOneKnown);
  EXPECT_GT(bed.dropped(), 0u);
}

TEST(Reassembly, OneStrangerCannotTakeItFromAnother) {
  ReassemblyBed bed;
  const auto forge = [&] {
    for (unsigned i = 0; i < 200; ++i, ++bed.forged)
      bed.take(ReassemblyBed::fragment(kOther, bed.forged, false), false);
  };
  EXPECT_EQ(bed.honest_through(kPeer, false, forge), kHonest);
  EXPECT_EQ(bed.reassembly->held(), Reassembly::kMostOfOneOther);
}

// A datagram of 40 bytes in pieces that overlap, so that none is right: the library has joined some
// of them when it finds out.
TEST(Reassembly, PiecesThatWereJoinedInVainGiveTheirSharesBack) {
  ReassemblyBed bed;
  const unsigned before = mbufs_in_use();
  const auto piece = [](unsigned offset, unsigned bytes, bool more) {
    FrameOptions options;
    options.protocol = 50;
    options.payload_bytes = static_cast<uint16_t>(bytes);
    Frame frame = ipv4_frame(options);
    uint8_t* ip = frame.data() + kEthernetBytes;
    std::memcpy(ip + 12, &kPeer, 4);
    ip[4] = ip[5] = 7;
    ip[6] = more ? 0x20 : 0;
    ip[7] = static_cast<uint8_t>(offset / 8);
    const uint16_t total = static_cast<uint16_t>(kIpv4Bytes + bytes);
    ip[2] = static_cast<uint8_t>(total >> 8);
    ip[3] = static_cast<uint8_t>(total);
    fix_checksum(frame);
    return packet(frame);
  };
  for (const auto& [offset, bytes, more] : {std::tuple(0u, 8u, true), std::tuple(24u, 8u, true),
                                            std::tuple(16u, 16u, true), std::tuple(32u, 8u, false)})
    rte_pktmbuf_free(bed.take(piece(offset, bytes, more), true));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (bed.reassembly->held() > 0 && std::chrono::steady_clock::now() < until)
    bed.reassembly->expire(*bed.reasons);
  EXPECT_EQ(bed.reassembly->held(), 0u);
  const uint64_t joined = bed.reasons->dropped[static_cast<size_t>(Reason::kEspJoined)].get();
  EXPECT_EQ(bed.dropped() + joined, 4u);
  EXPECT_EQ(mbufs_in_use(), before);
}

// What was given up gives its share back: after a flood all is as before.
TEST(Reassembly, SharesComeBackInTime) {
  ReassemblyBed bed;
  const unsigned before = mbufs_in_use();
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < 200; ++i, ++bed.forged)
      bed.take(ReassemblyBed::fragment(kOther, bed.forged, false), false);
    EXPECT_EQ(bed.reassembly->held(), Reassembly::kMostOfOneOther);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (bed.reassembly->held() > 0 && std::chrono::steady_clock::now() < until)
      bed.reassembly->expire(*bed.reasons);
    EXPECT_EQ(bed.reassembly->held(), 0u);
    EXPECT_EQ(bed.dropped(), 200u * (round + 1));
  }
  EXPECT_EQ(mbufs_in_use(), before);
}

}  // namespace
}  // namespace hecto::router::test
