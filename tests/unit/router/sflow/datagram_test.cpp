// Datagrams of sFlow against bytes that were made by hand from the specification.
#include "router/sflow/datagram.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/beds/addresses.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using namespace std::chrono_literals;
using Clock = SflowDatagrams::Clock;

std::string hex(std::span<const std::byte> bytes) {
  static const char* const kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

// Words with blanks between, as they stand in the specification.
std::string words(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

struct Sent {
  std::vector<std::vector<std::byte>> datagrams;
  Clock::time_point start{100s};
  SflowDatagrams out{[this](std::span<const std::byte> datagram) {
                       datagrams.emplace_back(datagram.begin(), datagram.end());
                     },
                     start};
};

SflowPacket a_packet(std::span<const std::byte> header) {
  SflowPacket packet;
  packet.source = 11;
  packet.sequence = 7;
  packet.rate = 1000;
  packet.pool = 7123;
  packet.drops = 2;
  packet.output = {SflowOutput::kInterface, 12};
  packet.length = 60;
  packet.header = header;
  return packet;
}

std::vector<std::byte> counting(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(SflowDatagrams, APacketAsTheSpecificationHasIt) {
  Sent sent;
  sent.out.set_agent(*IpAddress::parse("192.0.2.1"));
  const auto header = counting(14);
  SflowPacket packet = a_packet(header);
  packet.router = SflowRouter{*IpAddress::parse("198.51.100.9"), 24, 16};
  sent.out.add(packet, sent.start + 1s);
  sent.out.flush(sent.start + 1500ms, 1s);
  EXPECT_TRUE(sent.datagrams.empty()) << "it waits for others";
  sent.out.flush(sent.start + 2s, 1s);
  ASSERT_EQ(sent.datagrams.size(), 1u);
  EXPECT_EQ(hex(sent.datagrams[0]), words(R"(
      00000005 00000001 c0000201 00000000 00000001 000007d0 00000001
      00000003 0000006c
        00000007 00000000 0000000b 000003e8 00001bd3 00000002
        00000000 0000000b 00000000 0000000c 00000002
        00000001 00000020 00000001 00000040 00000004 0000000e
          00010203 04050607 08090a0b 0c0d0000
        000003ea 00000010 00000001 c6336409 00000018 00000010)"));
}

TEST(SflowDatagrams, WhatWasDiscardedSaysWhyAndAgentsMayHaveIpv6) {
  Sent sent;
  sent.out.set_agent(*IpAddress::parse("2001:db8::1"));
  const auto header = counting(16);
  SflowPacket packet = a_packet(header);
  packet.output = {SflowOutput::kDiscarded, 257};
  sent.out.add(packet, sent.start);
  sent.out.flush(sent.start, 0s);
  ASSERT_EQ(sent.datagrams.size(), 1u);
  EXPECT_EQ(hex(sent.datagrams[0]), words(R"(
      00000005 00000002 20010db8 00000000 00000000 00000001 00000000 00000001 00000000 00000001
      00000003 00000054
        00000007 00000000 0000000b 000003e8 00001bd3 00000002
        00000000 0000000b 00000001 00000101 00000001
        00000001 00000020 00000001 00000040 00000004 00000010
          00010203 04050607 08090a0b 0c0d0e0f)"));
}

TEST(SflowDatagrams, CountersOfAPort) {
  Sent sent;
  sent.out.set_agent(*IpAddress::parse("192.0.2.1"));
  SflowCounters c;
  c.source = 11;
  c.sequence = 3;
  c.name = "wan0.";
  c.speed_bps = 100'000'000'000;
  c.up = true;
  c.in_bytes = 0x100000001;
  c.in_packets = 5;
  c.in_discards = 6;
  c.in_errors = 7;
  c.out_bytes = 8;
  c.out_packets = 9;
  c.out_errors = 10;
  sent.out.add(c, sent.start);
  sent.out.flush(sent.start, 0s);
  ASSERT_EQ(sent.datagrams.size(), 1u);
  EXPECT_EQ(hex(sent.datagrams[0]), words(R"(
      00000005 00000001 c0000201 00000000 00000001 00000000 00000001
      00000004 00000084
        00000003 00000000 0000000b 00000002
        00000001 00000058
          0000000b 00000006 00000017 4876e800 00000001 00000003
          00000001 00000001 00000005 ffffffff ffffffff 00000006 00000007 ffffffff
          00000000 00000008 00000009 ffffffff ffffffff ffffffff 0000000a 00000002
        000003ed 0000000c 00000005 77616e30 2e000000)"));
}

// Samples of any size: none is longer than a datagram may be, none is lost, all in order.
TEST(SflowDatagrams, FillsDatagramsAndNoFurther) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Sent sent;
  sent.out.set_agent(*IpAddress::parse("2001:db8::1"));
  size_t bytes = 0;
  constexpr size_t kSamples = 2000, kHead = 40, kPacket = 8 + 44 + 8 + 16 + 24 + 12;
  for (size_t i = 0; i < kSamples; ++i) {
    const auto header = counting(14 + random() % 1011);
    SflowPacket packet = a_packet(header);
    if (random() % 2 == 0) packet.router = SflowRouter{*IpAddress::parse("2001:db8::9"), 1, 2};
    sent.out.add(packet, sent.start);
    bytes += kPacket - 12 - 24 + (header.size() + 3) / 4 * 4 + (packet.router ? 8 + 20 + 8 : 0);
  }
  sent.out.flush(sent.start, 0s);
  size_t total = 0, samples = 0;
  for (size_t i = 0; i < sent.datagrams.size(); ++i) {
    const auto& datagram = sent.datagrams[i];
    EXPECT_LE(datagram.size(), kMostDatagram_bytes);
    EXPECT_EQ(datagram.size() % 4, 0u);
    const auto* head = reinterpret_cast<const uint8_t*>(datagram.data());
    EXPECT_EQ(load32_be(head + 28), i + 1) << "its number";
    samples += load32_be(head + 36);
    total += datagram.size() - kHead;
  }
  EXPECT_EQ(samples, kSamples);
  EXPECT_EQ(total, bytes);
  EXPECT_EQ(sent.out.sequence(), sent.datagrams.size());
}

TEST(SflowDatagrams, AnotherAgentHasDatagramsOfItsOwn) {
  Sent sent;
  const auto header = counting(20);
  sent.out.set_agent(*IpAddress::parse("192.0.2.1"));
  sent.out.add(a_packet(header), sent.start);
  sent.out.set_agent(*IpAddress::parse("192.0.2.1"));
  EXPECT_TRUE(sent.datagrams.empty());
  sent.out.set_agent(*IpAddress::parse("192.0.2.2"));
  ASSERT_EQ(sent.datagrams.size(), 1u);
  EXPECT_EQ(hex(sent.datagrams[0]).substr(16, 8), "c0000201");
  sent.out.flush(sent.start + 10s, 0s);
  EXPECT_EQ(sent.datagrams.size(), 1u) << "there is nothing more";
}

}  // namespace
}  // namespace hecto::router::test
