// Transport mode through NAT: the checksum of TCP and UDP is right for the addresses of after it.
#include "router/ipsec/esp/headers.hpp"
#include "tests/unit/router/ipsec/esp/esp_bed.hpp"

namespace hecto::router::esp {
namespace {

constexpr uint8_t kSctp = 132;

size_t header_bytes(Family family) {
  return family == Family::kIpv4 ? 20 : 40;
}
size_t checksum_at(uint8_t protocol) {
  return protocol == kProtocolUdp ? 6 : 16;
}

// RFC 768, RFC 9293: word by word over a pseudo-header and the segment, of `covered` bytes.
uint16_t checksum(const Bytes& packet, Family family, uint8_t protocol, size_t covered) {
  const size_t header = header_bytes(family);
  Bytes all(packet.begin() + (family == Family::kIpv4 ? 12 : 8),
            packet.begin() + static_cast<long>(header + covered));
  all[header - (family == Family::kIpv4 ? 12 : 8) + checksum_at(protocol)] = 0;
  all[header - (family == Family::kIpv4 ? 12 : 8) + checksum_at(protocol) + 1] = 0;
  if (all.size() % 2 != 0) all.push_back(0);
  uint32_t sum = static_cast<uint32_t>(covered) + protocol;
  for (size_t i = 0; i < all.size(); i += 2) {
    sum += static_cast<uint32_t>(all[i] << 8 | all[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  const auto right = static_cast<uint16_t>(~sum);
  return protocol == kProtocolUdp && right == 0 ? 0xffff : right;
}

class Checksum : public EspTest {
 protected:
  SaState transport(Family family, bool encapsulated = true) {
    SaState state = sa_state(transform_by_name("aes-128-gcm", "").value(), random, family,
                             IpsecMode::kTransport);
    if (encapsulated) state.encapsulation = UdpEncapsulation{};
    return state;
  }
  // Of TCP or UDP with `payload` bytes behind its IP header, and its checksum right.
  Bytes packet(Family family, uint8_t protocol, size_t payload) {
    Bytes bytes = ip_packet(random, family, header_bytes(family) + payload);
    set_protocol(bytes, family, protocol);
    uint8_t* segment = bytes.data() + header_bytes(family);
    if (protocol == kProtocolUdp && payload >= 8)
      store16_be(segment + 4, static_cast<uint32_t>(payload));
    if (payload >= 20 || (protocol == kProtocolUdp && payload >= 8))
      store16_be(segment + checksum_at(protocol), checksum(bytes, family, protocol, payload));
    return bytes;
  }
  static void set_protocol(Bytes& packet, Family family, uint8_t protocol) {
    packet[family == Family::kIpv4 ? 9 : 6] = protocol;
    mend_header(packet, family);
  }
  static void mend_header(Bytes& packet, Family family) {
    if (family == Family::kIpv6) return;
    store16_be(packet.data() + 10, 0);
    store16_be(packet.data() + 10, ipv4_checksum(packet.data(), 20));
  }
  // Another source, as NAT makes it on the way.
  static Bytes translated(Bytes packet, Family family) {
    packet[family == Family::kIpv4 ? 15 : 23] ^= 0x5a;
    mend_header(packet, family);
    return packet;
  }
  // What comes of a packet that was sent through NAT.
  Bytes through_nat(const SaState& state, const Bytes& packet) {
    const Family family = state.id.destination.family;
    const auto sender = sa(state), receiver = sa(state);
    return in(*receiver, translated(out(*sender, packet), family));
  }
};

TEST_P(Checksum, OfTcpAndUdpCoversTheAddressesOfAfterNat) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const SaState state = transport(family);
    for (const uint8_t protocol : {kProtocolTcp, kProtocolUdp}) {
      for (size_t payload : {20, 21, 27, 28, 29, 63, 64, 65, 1000, 1399, 1400}) {
        SCOPED_TRACE(std::to_string(protocol) + " " + std::to_string(payload));
        const Bytes sent = packet(family, protocol, payload);
        Bytes expected = translated(sent, family);
        const uint16_t right = checksum(expected, family, protocol, payload);
        ASSERT_NE(load16_be(expected.data() + header_bytes(family) + checksum_at(protocol)), right);
        store16_be(expected.data() + header_bytes(family) + checksum_at(protocol), right);
        ASSERT_EQ(through_nat(state, sent), expected);
      }
    }
  }
}

TEST_P(Checksum, OfUdpThatIsZeroStaysZero) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    Bytes sent = packet(family, kProtocolUdp, 100);
    store16_be(sent.data() + header_bytes(family) + 6, 0);
    EXPECT_EQ(through_nat(transport(family), sent), translated(sent, family));
  }
}

TEST_P(Checksum, OfUdpThatComesOutAsZeroIsAllOnes) {
  Bytes sent = packet(Family::kIpv4, kProtocolUdp, 40);
  const Bytes after = translated(sent, Family::kIpv4);
  const uint16_t right = checksum(after, Family::kIpv4, kProtocolUdp, 40);
  const uint32_t word = load16_be(sent.data() + 30);
  store16_be(sent.data() + 30, fold_sum(uint64_t{word} + right));  // brings the sum to 0xffff
  const Bytes came = through_nat(transport(Family::kIpv4), sent);
  EXPECT_EQ(load16_be(came.data() + 26), 0xffff);
}

TEST_P(Checksum, CoversNoMoreOfUdpThanItsLengthSays) {
  Bytes sent = packet(Family::kIpv4, kProtocolUdp, 60);
  store16_be(sent.data() + 24, 33);
  const Bytes came = through_nat(transport(Family::kIpv4), sent);
  EXPECT_EQ(load16_be(came.data() + 26), checksum(came, Family::kIpv4, kProtocolUdp, 33));
}

TEST_P(Checksum, IsLeftWhereTheHeaderIsNotWholeOrLies) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const SaState state = transport(family);
    for (size_t payload = 0; payload < 20; ++payload) {
      const Bytes sent = packet(family, kProtocolTcp, payload);
      ASSERT_EQ(through_nat(state, sent), translated(sent, family)) << payload;
    }
    for (size_t payload = 0; payload < 8; ++payload) {
      const Bytes sent = packet(family, kProtocolUdp, payload);
      ASSERT_EQ(through_nat(state, sent), translated(sent, family)) << payload;
    }
    for (uint32_t length : {0, 7, 41, 0xffff}) {
      Bytes sent = packet(family, kProtocolUdp, 40);
      store16_be(sent.data() + header_bytes(family) + 4, length);
      ASSERT_EQ(through_nat(state, sent), translated(sent, family)) << length;
    }
  }
}

TEST_P(Checksum, IsLeftOfOtherProtocolsAndWithoutUdpAroundEsp) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const Bytes sctp = packet(family, kSctp, 40);
    EXPECT_EQ(through_nat(transport(family), sctp), translated(sctp, family));
    for (const uint8_t protocol : {kProtocolTcp, kProtocolUdp}) {
      Bytes wrong = packet(family, protocol, 40);
      wrong.back() ^= 1;
      EXPECT_EQ(through_nat(transport(family, false), wrong), translated(wrong, family));
    }
  }
}

TEST_P(Checksum, IsLeftInTunnels) {
  SaState state = transport(Family::kIpv4);
  state.mode = IpsecMode::kTunnel;
  Bytes wrong = packet(Family::kIpv4, kProtocolUdp, 40);
  wrong.back() ^= 1;
  EXPECT_EQ(through_nat(state, wrong), wrong);
}

TEST_P(Checksum, IsLeftBehindExtensionHeaders) {
  Bytes sent = packet(Family::kIpv6, kProtocolUdp, 48);
  sent[6] = 0;  // hop-by-hop
  std::copy_n(Bytes{kProtocolUdp, 0, 1, 4, 0, 0, 0, 0}.begin(), 8, sent.begin() + 40);  // then UDP
  store16_be(sent.data() + 52, 40);
  store16_be(sent.data() + 54, 0x1234);
  EXPECT_EQ(through_nat(transport(Family::kIpv6), sent), translated(sent, Family::kIpv6));
}

INSTANTIATE_TEST_SUITE_P(, Checksum, testing::ValuesIn(libraries()), library_name);

}  // namespace
}  // namespace hecto::router::esp
