#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "router/ipsec/esp/spd_words.hpp"
#include "router/ipsec/esp/tables.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

std::vector<uint8_t> ipv4(uint8_t protocol, std::vector<uint8_t> payload, uint16_t fragment = 0,
                          unsigned option_words = 0) {
  std::vector<uint8_t> packet(20 + option_words * 4 + payload.size());
  packet[0] = static_cast<uint8_t>(0x45 + option_words);
  packet[6] = static_cast<uint8_t>(fragment >> 8);
  packet[7] = static_cast<uint8_t>(fragment);
  packet[9] = protocol;
  const uint8_t addresses[] = {10, 1, 2, 3, 192, 0, 2, 9};
  std::memcpy(&packet[12], addresses, sizeof(addresses));
  std::copy(payload.begin(), payload.end(), packet.end() - static_cast<long>(payload.size()));
  return packet;
}

std::vector<uint8_t> ipv6(uint8_t protocol, std::vector<uint8_t> payload) {
  std::vector<uint8_t> packet(40 + payload.size());
  packet[0] = 0x60;
  packet[6] = protocol;
  packet[8] = 0x20;
  packet[24] = 0x30;
  packet[39] = 7;
  std::copy(payload.begin(), payload.end(), packet.end() - static_cast<long>(payload.size()));
  return packet;
}

FlowKey key_of(Family family, const std::vector<uint8_t>& packet) {
  // Exactly as long, so that a sanitizer sees what is read beyond.
  std::vector<uint8_t> exact(packet);
  exact.shrink_to_fit();
  return flow_key(family, exact.data(), static_cast<uint32_t>(exact.size()));
}

TEST(FlowKey, ReadsAddressesProtocolAndPortsOfIpv4) {
  const FlowKey key = key_of(Family::kIpv4, ipv4(17, {0x12, 0x34, 0x00, 0x35}));
  EXPECT_EQ(key.protocol, 17);
  EXPECT_EQ(key.source_port, 0x1234);
  EXPECT_EQ(key.destination_port, 53);
  EXPECT_EQ(key.source.bytes, (std::array<uint8_t, 16>{10, 1, 2, 3}));
  EXPECT_EQ(key.destination.bytes, (std::array<uint8_t, 16>{192, 0, 2, 9}));
}

TEST(FlowKey, SaysWhatNobodySees) {
  const auto of4 = [](uint8_t protocol, std::vector<uint8_t> payload, uint16_t fragment = 0) {
    return key_of(Family::kIpv4, ipv4(protocol, std::move(payload), fragment)).unseen;
  };
  EXPECT_EQ(of4(6, {0, 80, 1, 187}), Unseen::kNothing);
  EXPECT_EQ(of4(6, {0, 80, 1}), Unseen::kPorts) << "cut off";
  EXPECT_EQ(of4(1, {3}), Unseen::kPorts);
  EXPECT_EQ(of4(47, {}), Unseen::kNothing) << "a protocol without ports";
  for (const uint16_t fragment : {0x2000, 0x2001, 0x0001})
    EXPECT_EQ(of4(6, {0, 80, 1, 187}, fragment), Unseen::kPorts);
  const auto of6 = [](uint8_t protocol, std::vector<uint8_t> payload) {
    return key_of(Family::kIpv6, ipv6(protocol, std::move(payload))).unseen;
  };
  EXPECT_EQ(of6(17, {0, 80, 1, 187}), Unseen::kNothing);
  EXPECT_EQ(of6(60, {17, 0, 1, 4, 0, 0, 0, 0, 0, 80, 1, 187}), Unseen::kNothing);
  EXPECT_EQ(of6(60, {17, 1, 1, 4, 0, 0, 0, 0, 0, 80}), Unseen::kProtocol) << "cut off";
  EXPECT_EQ(of6(44, {17, 0, 0, 1, 0, 0, 0, 9, 0, 80, 1, 187}), Unseen::kPorts) << "the first";
  EXPECT_EQ(of6(44, {17, 0, 0, 8, 0, 0, 0, 9, 0, 80, 1, 187}), Unseen::kProtocol) << "a later one";
  EXPECT_EQ(of6(44, {60, 0, 0, 1, 0, 0, 0, 9, 17, 0}), Unseen::kProtocol) << "more headers";
  std::vector<uint8_t> many;
  for (int i = 0; i < 9; ++i) many.insert(many.end(), {60, 0, 1, 4, 0, 0, 0, 0});
  EXPECT_EQ(of6(60, many), Unseen::kProtocol);
}

TEST(FlowKey, FindsPortsBehindIpv4Options) {
  EXPECT_EQ(key_of(Family::kIpv4, ipv4(6, {0, 80, 1, 187}, 0, 3)).destination_port, 443);
}

TEST(FlowKey, FragmentsHaveNoPortsTheFirstOneNeither) {
  for (uint16_t fragment : {0x2000, 0x2001, 0x0001}) {
    const FlowKey key = key_of(Family::kIpv4, ipv4(6, {0, 80, 1, 187}, fragment));
    EXPECT_EQ(key.protocol, 6);
    EXPECT_EQ(key.source_port | key.destination_port, 0) << fragment;
  }
  EXPECT_EQ(key_of(Family::kIpv4, ipv4(6, {0, 80, 1, 187}, 0x4000)).source_port, 80);  // DF
  const FlowKey six = key_of(Family::kIpv6, ipv6(44, {17, 0, 0, 1, 0, 0, 0, 9, 0, 80, 1, 187}));
  EXPECT_EQ(six.protocol, 17);
  EXPECT_EQ(six.source_port | six.destination_port, 0);
}

TEST(FlowKey, TypeAndCodeOfIcmpStandInThePorts) {
  const FlowKey key = key_of(Family::kIpv4, ipv4(1, {8, 3, 0, 0}));
  EXPECT_EQ(key.source_port, 8);
  EXPECT_EQ(key.destination_port, 3);
  EXPECT_EQ(key_of(Family::kIpv6, ipv6(58, {128, 0})).source_port, 128);
}

TEST(FlowKey, OtherProtocolsHaveNoPorts) {
  const FlowKey key = key_of(Family::kIpv4, ipv4(50, {1, 2, 3, 4}));
  EXPECT_EQ(key.protocol, 50);
  EXPECT_EQ(key.source_port | key.destination_port, 0);
}

TEST(FlowKey, WalksExtensionHeadersOfIpv6) {
  // Hop-by-hop, routing of 16 bytes, destination options, then UDP.
  std::vector<uint8_t> payload(8 + 16 + 8);
  payload[0] = 43;
  payload[8] = 60;
  payload[9] = 1;
  payload[24] = 17;
  payload.insert(payload.end(), {0, 1, 0, 2});
  const FlowKey key = key_of(Family::kIpv6, ipv6(0, payload));
  EXPECT_EQ(key.protocol, 17);
  EXPECT_EQ(key.source_port, 1);
  EXPECT_EQ(key.destination_port, 2);
}

// What is read of plain headers at once is what flow_key() reads, and it says no to all others.
template <size_t kWords>
void words_are_those_of_the_key(Family family, std::vector<uint8_t> packet, bool plain) {
  packet.shrink_to_fit();
  SpdWords<kWords> words{};
  const auto bytes = static_cast<uint32_t>(packet.size());
  ASSERT_EQ(plain_spd_words(packet.data(), bytes, words), plain);
  if (!plain) return;
  const FlowKey key = flow_key(family, packet.data(), bytes);
  EXPECT_EQ(words, spd_words<kWords>(key, 0));
  EXPECT_EQ(key.unseen, Unseen::kNothing);
}

TEST(FlowKey, WordsOfPlainHeaders) {
  std::mt19937_64 random(test_seed());
  constexpr uint8_t kProtocols[] = {0, 1, 6, 17, 33, 44, 50, 58, 132};
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> payload(random() % 8);
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random());
    const uint8_t protocol = kProtocols[random() % std::size(kProtocols)];
    const bool shows = (protocol == 6 || protocol == 17) && payload.size() >= 4;
    const auto fragment = static_cast<uint16_t>(random() % 2 == 0 ? 0 : 1U << random() % 16);
    const unsigned options = random() % 4 == 0 ? 1 : 0;
    std::vector<uint8_t> four = ipv4(protocol, payload, fragment, options);
    for (size_t at = 12; at < 20; ++at) four[at] = static_cast<uint8_t>(random());
    words_are_those_of_the_key<3>(Family::kIpv4, four,
                                  shows && (fragment & 0x3fff) == 0 && options == 0);
    std::vector<uint8_t> six = ipv6(protocol, payload);
    for (size_t at = 8; at < 40; ++at) six[at] = static_cast<uint8_t>(random());
    words_are_those_of_the_key<6>(Family::kIpv6, six, shows);
  }
}

TEST(FlowKey, NeverReadsBeyondThePacket) {
  std::vector<uint8_t> six = ipv6(0, std::vector<uint8_t>(200));  // hop-by-hop without end
  for (size_t bytes = 0; bytes <= six.size(); ++bytes)
    key_of(Family::kIpv6, std::vector<uint8_t>(six.begin(), six.begin() + bytes));
  six[41] = 255;  // longer than the packet
  EXPECT_EQ(key_of(Family::kIpv6, six).source_port, 0);
  std::vector<uint8_t> four = ipv4(6, {0, 80, 1, 187}, 0, 10);
  for (size_t bytes = 0; bytes <= four.size(); ++bytes) {
    const FlowKey key =
        key_of(Family::kIpv4, std::vector<uint8_t>(four.begin(), four.begin() + bytes));
    EXPECT_EQ(key.source_port, bytes == four.size() ? 80 : 0) << bytes;
  }
}

}  // namespace
}  // namespace hecto::router::esp
