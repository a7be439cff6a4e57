// What goes out: header fields, room, numbers, lifetimes.
#include <set>
#include <thread>

#include "router/ipsec/esp/headers.hpp"
#include "tests/unit/router/ipsec/esp/openssl_esp.hpp"

namespace hecto::router::esp {
namespace {

class Outbound : public EspTest {
 protected:
  SaState gcm(Family outer = Family::kIpv4, IpsecMode mode = IpsecMode::kTunnel) {
    return sa_state(transform_by_name("aes-128-gcm", "").value(), random, outer, mode);
  }
  static std::string text_of(const Bytes& bytes, size_t begin, size_t end) {
    return {bytes.begin() + static_cast<long>(begin), bytes.begin() + static_cast<long>(end)};
  }
  static void set_class(Bytes& packet, uint8_t traffic_class) {
    uint8_t* ip = packet.data();
    if (is_ipv4(ip)) {
      ip[1] = traffic_class;
      store16_be(ip + 10, 0);
      store16_be(ip + 10, ipv4_checksum(ip, 20));
    } else {
      store16_be(ip, 0x6000U | static_cast<uint32_t>(traffic_class) << 4);
    }
  }
};

TEST_P(Outbound, OuterHeadersAreWhole) {
  for (const Family outer : kFamilies) {
    for (const Family inner : kFamilies) {
      const SaState state = gcm(outer);
      const auto sender = sa(state);
      const Bytes sent = out(*sender, ip_packet(random, inner, 100));
      Bytes expected =
          with_outer(state, Bytes(sent.begin() + (outer == Family::kIpv4 ? 20 : 40), sent.end()));
      if (outer == Family::kIpv4) {
        store16_be(expected.data() + 4, 1);       // id: the sequence number
        store16_be(expected.data() + 6, 0x4000);  // DF of the inner, and of every IPv6 packet
        store16_be(expected.data() + 10, 0);
        store16_be(expected.data() + 10, ipv4_checksum(expected.data(), 20));
      }
      EXPECT_EQ(sent, expected);
    }
  }
}

TEST_P(Outbound, DscpEcnAndDfAsTheSaSays) {
  for (int flags = 0; flags < 8; ++flags) {
    for (const Family outer : kFamilies) {
      for (const Family inner : kFamilies) {
        for (int i = 0; i < 16; ++i) {
          SaState state = gcm(outer);
          state.copy_dscp = (flags & 1) != 0;
          state.ecn = (flags & 2) != 0;
          state.copy_dont_fragment = (flags & 4) != 0;
          const auto sender = sa(state);
          Bytes packet = ip_packet(random, inner, 100);
          const bool dont_fragment = random() % 2 == 0;
          if (inner == Family::kIpv4) store16_be(packet.data() + 6, dont_fragment ? 0x4000 : 0);
          const auto traffic_class = static_cast<uint8_t>(random());
          set_class(packet, traffic_class);
          const Bytes sent = out(*sender, packet);
          const uint8_t expected =
              (state.copy_dscp ? traffic_class & 0xfc : 0) | (state.ecn ? traffic_class & 3 : 0);
          ASSERT_EQ(esp::traffic_class(sent.data()), expected);
          if (outer == Family::kIpv6) continue;
          const bool set = state.copy_dont_fragment && (inner == Family::kIpv6 || dont_fragment);
          ASSERT_EQ(load16_be(sent.data() + 6), set ? 0x4000 : 0);
          ASSERT_EQ(ipv4_checksum(sent.data(), 20), 0);
        }
      }
    }
  }
}

// RFC 6040 §4.2, figure 4; -1 is the packet dropped.
TEST_P(Outbound, EcnIsDecapsulatedByTheTable) {
  constexpr int kTable[4][4] = {// outer Not-ECT, ECT(1), ECT(0), CE
                                {0, 0, 0, -1},
                                {1, 1, 1, 3},
                                {2, 1, 2, 3},
                                {3, 3, 3, 3}};
  for (const Family outer : kFamilies) {
    for (const Family inner : kFamilies) {
      const SaState state = gcm(outer);
      const auto sender = sa(state), receiver = sa(state);
      for (unsigned inner_ecn = 0; inner_ecn < 4; ++inner_ecn) {
        for (unsigned outer_ecn = 0; outer_ecn < 4; ++outer_ecn) {
          Bytes packet = ip_packet(random, inner, 100);
          set_class(packet, static_cast<uint8_t>(0xb8 | inner_ecn));
          Bytes sent = out(*sender, packet);
          set_class(sent, static_cast<uint8_t>(outer_ecn));
          const int expected = kTable[inner_ecn][outer_ecn];
          const Bytes got =
              in(*receiver, sent, expected < 0 ? Reason::kEspMalformed : Reason::kNone);
          if (expected < 0) continue;
          set_class(packet, static_cast<uint8_t>(0xb8 | expected));
          ASSERT_EQ(got, packet) << inner_ecn << " in " << outer_ecn;
        }
      }
    }
  }
}

TEST_P(Outbound, UdpChecksumIsZeroOverIpv4AndRightOverIpv6) {
  for (const Family outer : kFamilies) {
    for (const size_t bytes : {64, 65, 1399}) {
      SaState state = gcm(outer);
      state.encapsulation = UdpEncapsulation{4500, 1027};
      const auto sender = sa(state);
      const Bytes sent = out(*sender, ip_packet(random, Family::kIpv4, bytes));
      const uint32_t front = outer == Family::kIpv4 ? 20 : 40;
      const uint8_t* udp = sent.data() + front;
      const auto udp_bytes = static_cast<uint32_t>(sent.size()) - front;
      EXPECT_EQ(load16_be(udp), 4500);
      EXPECT_EQ(load16_be(udp + 2), 1027);
      EXPECT_EQ(load16_be(udp + 4), udp_bytes);
      if (outer == Family::kIpv4) {
        EXPECT_EQ(load16_be(udp + 6), 0);
        continue;
      }
      Bytes pseudo = concat({slice(sent, 8, 40), be32(udp_bytes), be32(17),
                             slice(sent, front, sent.size()), Bytes((4 - udp_bytes % 4) % 4)});
      EXPECT_EQ(fold_sum(sum_words(pseudo.data(), static_cast<uint32_t>(pseudo.size()))), 0xffff);
    }
  }
}

TEST_P(Outbound, PadsToTheLengthThatTheSaAsksFor) {
  SaState state = gcm();
  state.tfc_pad = 1000;
  const auto sender = sa(state), receiver = sa(state);
  for (const size_t bytes : {20, 64, 333, 999, 1000, 1001, 1400}) {
    const Bytes packet = ip_packet(random, Family::kIpv4, bytes);
    Frame frame(packet, sender.get(), 128, 1200);
    engine->outbound({&frame.packet(), 1}, 1, 64);
    ASSERT_EQ(frame.packet().reason, Reason::kNone);
    const Bytes sent = frame.bytes();
    EXPECT_EQ(sent.size(), sender->outer_bytes(static_cast<uint32_t>(bytes)));
    if (bytes <= 1000) {
      EXPECT_EQ(sent.size(), sender->outer_bytes(1000));
    }
    EXPECT_EQ(in(*receiver, sent), packet);
  }
}

TEST_P(Outbound, NeedsRoomOnBothSides) {
  const SaState state = gcm();
  const auto sender = sa(state);
  const Bytes packet = ip_packet(random, Family::kIpv4, 100);
  const size_t front = 20 + 8 + 8, behind = 2 + 2 + 16;  // 102 is filled up to 104
  for (const auto& [headroom, tailroom, reason] : {std::tuple{front, behind, Reason::kNone},
                                                   {front - 1, behind, Reason::kEspNoRoom},
                                                   {front, behind - 1, Reason::kEspNoRoom},
                                                   {size_t{0}, size_t{0}, Reason::kEspNoRoom}}) {
    Frame frame(packet, sender.get(), headroom, tailroom);
    engine->outbound({&frame.packet(), 1}, 1, 64);
    EXPECT_EQ(frame.packet().reason, reason);
    if (reason != Reason::kNone) continue;
    EXPECT_EQ(frame.packet().headroom, 0);
    EXPECT_EQ(frame.packet().tailroom, 0);
  }
  EXPECT_EQ(sender->sequence.load(), 1U);  // what did not fit took no number
}

TEST_P(Outbound, RefusesWhatIsNoWholePacket) {
  const SaState state = gcm();
  const auto sender = sa(state);
  Bytes packet = ip_packet(random, Family::kIpv4, 100);
  out(*sender, slice(packet, 0, 99), Reason::kEspMalformed);
  out(*sender, slice(packet, 0, 19), Reason::kEspMalformed);
  out(*sender, {}, Reason::kEspMalformed);
  packet[0] = 0x55;
  out(*sender, packet, Reason::kEspMalformed);
  Frame without(packet);
  engine->outbound({&without.packet(), 1}, 1, 64);
  EXPECT_EQ(without.packet().reason, Reason::kPolicyNoSa);
  const auto huge = sa(gcm(Family::kIpv6));
  Frame jumbo(ip_packet(random, Family::kIpv4, 65500), huge.get());
  engine->outbound({&jumbo.packet(), 1}, 1, 64);
  EXPECT_EQ(jumbo.packet().reason, Reason::kEspNoRoom);
}

TEST_P(Outbound, TransportModeKeepsOptionsInFrontAndRefusesFragments) {
  const SaState v4 = gcm(Family::kIpv4, IpsecMode::kTransport);
  const auto sender = sa(v4), receiver = sa(v4);
  Bytes packet = ip_packet(random, Family::kIpv4, 100);
  packet[0] = 0x47;
  store16_be(packet.data() + 10, 0);
  store16_be(packet.data() + 10, ipv4_checksum(packet.data(), 28));
  const Bytes sent = out(*sender, packet);
  EXPECT_EQ(sent[9], 50);
  EXPECT_EQ(slice(sent, 12, 28), slice(packet, 12, 28));
  EXPECT_EQ(in(*receiver, sent), packet);
  store16_be(packet.data() + 6, 0x2000);
  out(*sender, packet, Reason::kEspFragment);

  const SaState v6 = gcm(Family::kIpv6, IpsecMode::kTransport);
  const auto sender6 = sa(v6), receiver6 = sa(v6);
  Bytes packet6 = ip_packet(random, Family::kIpv6, 140);
  packet6[6] = 0;                                                                // hop-by-hop, then
  std::copy_n(Bytes{43, 0, 1, 4, 0, 0, 0, 0}.begin(), 8, packet6.begin() + 40);  // routing, then
  std::copy_n(Bytes{60, 0, 0, 0, 0, 0, 0, 0}.begin(), 8, packet6.begin() + 48);  // destination,
  std::copy_n(Bytes{17, 0, 1, 4, 0, 0, 0, 0}.begin(), 8, packet6.begin() + 56);  // then UDP
  const Bytes sent6 = out(*sender6, packet6);
  EXPECT_EQ(sent6[48], 50);  // destination options are protected
  EXPECT_EQ(in(*receiver6, sent6), packet6);
}

TEST_P(Outbound, NumbersEndBeforeTheyWrap) {
  for (const bool esn : {false, true}) {
    SaState state = gcm();
    state.esn = esn;
    state.sequence = 0xfffffffd;
    const auto sender = sa(state);
    std::vector<Frame> frames;
    std::vector<Packet> packets;
    frames.reserve(4);
    for (int i = 0; i < 4; ++i) {
      frames.emplace_back(ip_packet(random, Family::kIpv4, 64), sender.get());
      packets.push_back(frames.back().packet());
    }
    engine->outbound(packets, 1, 64);
    for (uint32_t i = 0; i < 4; ++i) {
      const bool last = !esn && i >= 2;
      EXPECT_EQ(packets[i].reason, last ? Reason::kEspExpired : Reason::kNone);
      if (!last) {
        EXPECT_EQ(load32_be(packets[i].ip + 24), 0xfffffffe + i);
      }
    }
    EXPECT_EQ(sender->expired.load(), !esn);
    out(*sender, ip_packet(random, Family::kIpv4, 64), esn ? Reason::kNone : Reason::kEspExpired);
  }
  SaState state = gcm();
  state.esn = true;
  state.sequence = ~uint64_t{0} - 1;
  out(*sa(state), ip_packet(random, Family::kIpv4, 64), Reason::kEspExpired);
}

TEST_P(Outbound, HardLifetimesEndAnSa) {
  SaState packets = gcm(), bytes = gcm();
  packets.lifetime.hard_packets = 3;
  bytes.lifetime.hard_bytes = 300;  // 104 bytes of ciphertext each: the third goes over it
  for (const SaState& state : {packets, bytes}) {
    const auto sender = sa(state), receiver = sa(state);
    const auto unlimited = sa([&] {
      SaState copy = state;
      copy.lifetime = {};
      return copy;
    }());
    for (int i = 0; i < 5; ++i) {
      const Bytes packet = ip_packet(random, Family::kIpv4, 100);
      const Reason expected = i < 3 ? Reason::kNone : Reason::kEspExpired;
      out(*sender, packet, expected);
      in(*receiver, out(*unlimited, packet), expected);
    }
    for (const auto& sa : {&sender, &receiver}) {
      EXPECT_TRUE((*sa)->expired.load());
      EXPECT_EQ((*sa)->packets.load(), 3U);
      EXPECT_EQ((*sa)->bytes.load(), 312U);
      EXPECT_EQ((*sa)->first_used_s.load(), 100U);
      EXPECT_EQ((*sa)->last_used_s.load(), 100U);
    }
  }
}

TEST_P(Outbound, MtuIsTheLargestThatFits) {
  for (const Transform& transform : all_transforms()) {
    for (const Family outer : kFamilies) {
      for (const IpsecMode mode : {IpsecMode::kTunnel, IpsecMode::kTransport}) {
        const auto one = sa(sa_state(transform, random, outer, mode));
        for (uint32_t mtu = 300; mtu < 340; ++mtu) {
          const uint32_t inner = one->inner_mtu(mtu);
          ASSERT_LE(one->outer_bytes(inner), mtu);
          ASSERT_GT(one->outer_bytes(inner + 1), mtu);
        }
        EXPECT_EQ(one->inner_mtu(40), 0U);
      }
    }
  }
}

// Numbers of two workers on one SA: all of them, none twice.
TEST_P(Outbound, TwoEnginesNeverGiveOneNumberTwice) {
  SaState state = gcm();
  const auto sender = sa(state);
  const Bytes packet = ip_packet(random, Family::kIpv4, 64);
  constexpr unsigned kBatches = 150, kBatch = 17;
  std::array<std::vector<uint32_t>, 2> numbers;
  std::vector<std::thread> threads;
  for (auto& mine : numbers) {
    threads.emplace_back([&] {
      const auto own = Engine::create(GetParam()).value();
      for (unsigned i = 0; i < kBatches; ++i) {
        std::vector<Frame> frames;
        std::vector<Packet> packets;
        frames.reserve(kBatch);
        for (unsigned k = 0; k < kBatch; ++k) {
          frames.emplace_back(packet, sender.get());
          packets.push_back(frames.back().packet());
        }
        own->outbound(packets, 1, 64);
        for (const Packet& sent : packets) mine.push_back(load32_be(sent.ip + 24));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint32_t> all(numbers[0].begin(), numbers[0].end());
  all.insert(numbers[1].begin(), numbers[1].end());
  EXPECT_EQ(all.size(), 2 * kBatches * kBatch);
  EXPECT_EQ(*all.begin(), 1U);
  EXPECT_EQ(*all.rbegin(), 2 * kBatches * kBatch);
  EXPECT_EQ(sender->packets.load(), 2 * kBatches * kBatch);
}

TEST_P(Outbound, CbcIvsDoNotRepeat) {
  const SaState state = sa_state(transform_by_name("aes-128-cbc", "hmac-sha1").value(), random);
  std::set<std::string> ivs;
  for (int i = 0; i < 3; ++i) {
    const auto other = Engine::create(GetParam()).value();
    const auto sender = sa(state);
    for (int k = 0; k < 50; ++k) {
      Frame frame(ip_packet(random, Family::kIpv4, 64), sender.get());
      other->outbound({&frame.packet(), 1}, 1, 64);
      ivs.insert(text_of(frame.bytes(), 28, 44));
    }
  }
  EXPECT_EQ(ivs.size(), 150U);
}

// The same keys from a file once more, from number 1 on: other IVs.
TEST_P(Outbound, CounterIvsDifferBetweenSasOfOneKey) {
  const SaState state = gcm();
  std::set<std::string> ivs;
  for (int i = 0; i < 50; ++i) {
    const auto sender = sa(state);
    for (int k = 0; k < 10; ++k)
      ivs.insert(text_of(out(*sender, ip_packet(random, Family::kIpv4, 64)), 28, 36));
  }
  EXPECT_EQ(ivs.size(), 500U);
}

INSTANTIATE_TEST_SUITE_P(, Outbound, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
