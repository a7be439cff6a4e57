// Messages of IPFIX, read by a decoder that is first held against the examples of RFC 7011.
#include "router/ipfix/message.hpp"

#include <gtest/gtest.h>

#include "tests/unit/router/ipfix/decoder.hpp"

namespace hecto::router::test {
namespace {

using Bytes = IpfixDecoder::Bytes;

// RFC 7011, appendix A.1 to A.4: a template, data, options and theirs.
TEST(IpfixDecoderTest, ReadsTheExamplesOfTheRfc) {
  const Bytes message = {
      0x00, 0x0a, 0x00, 0x98, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00,
      0x05,
      // A.2.1: addresses, next hop, packets, bytes
      0x00, 0x02, 0x00, 0x1c, 0x01, 0x00, 0x00, 0x05, 0x00, 0x08, 0x00, 0x04, 0x00, 0x0c, 0x00,
      0x04, 0x00, 0x0f, 0x00, 0x04, 0x00, 0x02, 0x00, 0x04, 0x00, 0x01, 0x00, 0x04,
      // A.3: three records
      0x01, 0x00, 0x00, 0x40, 192, 0, 2, 12, 192, 0, 2, 254, 192, 0, 2, 1, 0x00, 0x00, 0x13, 0x91,
      0x00, 0x51, 0x8c, 0x81, 192, 0, 2, 27, 192, 0, 2, 23, 192, 0, 2, 2, 0x00, 0x00, 0x02, 0xec,
      0x00, 0x05, 0xf0, 0xc9, 192, 0, 2, 56, 192, 0, 2, 65, 192, 0, 2, 3, 0x00, 0x00, 0x00, 0x05,
      0x00, 0x00, 0x1a, 0x55,
      // A.4.1: of line cards, padded
      0x00, 0x03, 0x00, 0x18, 0x01, 0x02, 0x00, 0x03, 0x00, 0x01, 0x00, 0x8d, 0x00, 0x04, 0x00,
      0x29, 0x00, 0x02, 0x00, 0x2a, 0x00, 0x02, 0x00, 0x00,
      // A.4.3
      0x01, 0x02, 0x00, 0x14, 0x00, 0x00, 0x00, 0x01, 0x01, 0x59, 0x27, 0xd9, 0x00, 0x00, 0x00,
      0x02, 0x02, 0xb2, 0x4f, 0xb2};
  IpfixDecoder decoder;
  const auto read = decoder.decode(message);
  EXPECT_EQ(read.templates, 2u);
  EXPECT_EQ(decoder.templates().at(258).scopes, 1u);
  ASSERT_EQ(read.records.size(), 5u);
  EXPECT_EQ(read.records[0].values.at(8), (Bytes{192, 0, 2, 12}));
  EXPECT_EQ(read.records[0].number(2), 5009u);
  EXPECT_EQ(read.records[0].number(1), 5344385u);
  EXPECT_EQ(read.records[2].number(1), 6741u);
  EXPECT_EQ(read.records[4].number(0x8d), 2u);
  EXPECT_EQ(read.records[4].number(41), 690u);
  EXPECT_EQ(read.records[4].number(42), 20402u);
  for (size_t cut = 0; cut < message.size(); ++cut) {
    IpfixDecoder fresh;
    EXPECT_THROW(fresh.decode(std::span(message).first(cut)), std::runtime_error) << cut;
  }
}

struct Sent {
  std::vector<Bytes> messages;
  IpfixMessages::Send to() {
    return [this](std::span<const std::byte> bytes) {
      const auto* const at = reinterpret_cast<const uint8_t*>(bytes.data());
      messages.emplace_back(at, at + bytes.size());
    };
  }
};

IpfixRecord sample_record(bool ipv6) {
  IpfixRecord r;
  r.flow.ipv6 = ipv6;
  for (uint8_t i = 0; i < (ipv6 ? 16 : 4); ++i) {
    r.flow.source[i] = static_cast<uint8_t>(0x11 + i);
    r.flow.destination[i] = static_cast<uint8_t>(0x31 + i);
  }
  r.flow.ingress = 0x01020304;
  r.flow.egress = 0x05060708;
  r.flow.sampling = 1000;
  r.flow.source_port = 0x1234;
  r.flow.destination_port = 0x5678;
  r.flow.icmp = 0x0301;
  r.flow.vlan = 0x0abc;
  r.flow.protocol = 6;
  r.flow.forwarding = 64;
  r.packets = 0x1122334455667788;
  r.bytes = 0x99aabbccddeeff00;
  r.first_ms = 1'700'000'000'123;
  r.last_ms = 1'700'000'001'456;
  r.end = FlowEnd::kActive;
  r.traffic_class = 0xb8;
  r.tcp_flags = 0x12;
  r.entry = 0x100000007;
  r.source_length = 24;
  r.destination_length = ipv6 ? 128 : 32;
  return r;
}

// Elements of RFC 7012, by their numbers in IANA's registry.
void expect_common(const IpfixDecoder::Record& read, const IpfixRecord& r) {
  const bool ipv6 = r.flow.ipv6;
  const size_t bytes = ipv6 ? 16 : 4;
  EXPECT_EQ(read.values.at(ipv6 ? 27 : 8),
            Bytes(r.flow.source.begin(), r.flow.source.begin() + static_cast<long>(bytes)));
  EXPECT_EQ(
      read.values.at(ipv6 ? 28 : 12),
      Bytes(r.flow.destination.begin(), r.flow.destination.begin() + static_cast<long>(bytes)));
  EXPECT_EQ(read.number(7), r.flow.source_port);
  EXPECT_EQ(read.number(11), r.flow.destination_port);
  EXPECT_EQ(read.number(4), r.flow.protocol);
  EXPECT_EQ(read.number(10), r.flow.ingress);
  EXPECT_EQ(read.number(14), r.flow.egress);
  EXPECT_EQ(read.number(152), r.first_ms);
  EXPECT_EQ(read.number(153), r.last_ms);
  EXPECT_EQ(read.number(2), r.packets);
  EXPECT_EQ(read.number(1), r.bytes);
  EXPECT_EQ(read.number(89), r.flow.forwarding);
  EXPECT_EQ(read.number(136), 2u);
  EXPECT_EQ(read.number(302), r.flow.sampling);
}

TEST(IpfixMessages, ARecordIsReadAsItWas) {
  for (const bool ipv6 : {false, true}) {
    Sent sent;
    IpfixMessages messages(sent.to());
    messages.set_domain(77);
    messages.set_time(1'700'000'002);
    messages.add_templates(std::array<uint32_t, 2>{1000, 1});
    const IpfixRecord r = sample_record(ipv6);
    messages.add(IpfixKind::kSampled, r);
    messages.add(IpfixKind::kEntry, r);
    EXPECT_TRUE(sent.messages.empty());
    messages.send();
    ASSERT_EQ(sent.messages.size(), 1u);
    IpfixDecoder decoder;
    const auto read = decoder.decode(sent.messages[0]);
    EXPECT_EQ(read.seconds, 1'700'000'002u);
    EXPECT_EQ(read.domain, 77u);
    EXPECT_EQ(read.sequence, 0u);
    EXPECT_EQ(read.templates, 6u);
    ASSERT_EQ(read.records.size(), 6u);
    EXPECT_EQ(decoder.templates().at(260).scopes, 1u);
    // Options of the selectors: algorithm, interval and space, n out of N.
    EXPECT_EQ(read.records[0].number(302), 1000u);
    EXPECT_EQ(read.records[0].number(304), 3u);
    EXPECT_EQ(read.records[0].number(305), 1u);
    EXPECT_EQ(read.records[0].number(306), 999u);
    EXPECT_EQ(read.records[0].number(309), 1u);
    EXPECT_EQ(read.records[0].number(310), 1000u);
    EXPECT_EQ(read.records[1].number(304), 1u);
    EXPECT_EQ(read.records[1].number(306), 0u);
    // And of their domain: samplingInterval by selector.
    EXPECT_EQ(decoder.templates().at(261).scopes, 1u);
    EXPECT_EQ(read.records[2].number(149), 77u);
    EXPECT_EQ(read.records[2].number(302), 1000u);
    EXPECT_EQ(read.records[2].number(34), 1000u);
    EXPECT_EQ(read.records[3].number(302), 1u);
    EXPECT_EQ(read.records[3].number(34), 1u);
    EXPECT_EQ(read.records[4].id, ipv6 ? 257 : 256);
    expect_common(read.records[4], r);
    EXPECT_EQ(read.records[4].number(5), r.traffic_class);
    EXPECT_EQ(read.records[4].number(6), r.tcp_flags);
    EXPECT_EQ(read.records[4].number(58), r.flow.vlan);
    EXPECT_EQ(read.records[4].number(ipv6 ? 139 : 32), r.flow.icmp);
    EXPECT_EQ(read.records[5].id, ipv6 ? 259 : 258);
    expect_common(read.records[5], r);
    EXPECT_EQ(read.records[5].number(ipv6 ? 29 : 9), r.source_length);
    EXPECT_EQ(read.records[5].number(ipv6 ? 30 : 13), r.destination_length);
    EXPECT_EQ(read.records[5].number(148), r.entry);
    EXPECT_EQ(messages.records(), 2u);
    EXPECT_EQ(messages.sequence(), 6u) << "options count, templates do not";
  }
}

TEST(IpfixMessages, NoneIsTooLongAndNumbersHaveNoGap) {
  Sent sent;
  IpfixMessages messages(sent.to());
  constexpr uint64_t kRecords = 5000;
  for (uint64_t i = 0; i < kRecords; ++i) {
    IpfixRecord r = sample_record(i % 7 == 0);
    r.packets = i;
    if (i % 501 == 0) messages.add_templates(std::array<uint32_t, 1>{1000});
    messages.add(i % 5 < 3 ? IpfixKind::kSampled : IpfixKind::kEntry, r);
  }
  messages.send();
  messages.send();
  IpfixDecoder decoder;
  uint64_t next = 0, all = 0;
  for (const Bytes& message : sent.messages) {
    EXPECT_LE(message.size(), kMostIpfixMessage_bytes);
    const auto read = decoder.decode(message);
    EXPECT_EQ(read.sequence, all) << "the data records before it";
    all += read.records.size();
    for (const auto& record : read.records)
      if (record.id < 260) {
        EXPECT_EQ(record.number(2), next++);
      }
  }
  EXPECT_EQ(next, kRecords);
  EXPECT_EQ(messages.sequence(), all);
  EXPECT_EQ(messages.messages(), sent.messages.size());
  EXPECT_GT(kRecords / sent.messages.size(), 10u) << "messages are filled";
}

TEST(IpfixMessages, AnotherDomainBeginsAnew) {
  Sent sent;
  IpfixMessages messages(sent.to());
  messages.add_templates({});
  messages.add(IpfixKind::kSampled, sample_record(false));
  messages.set_domain(9);
  ASSERT_EQ(sent.messages.size(), 1u) << "what was there is the old one's";
  messages.add(IpfixKind::kSampled, sample_record(false));
  messages.send();
  IpfixDecoder decoder;
  EXPECT_EQ(decoder.decode(sent.messages[0]).domain, 1u);
  const auto second = decoder.decode(sent.messages[1]);
  EXPECT_EQ(second.domain, 9u);
  EXPECT_EQ(second.sequence, 0u);
}

}  // namespace
}  // namespace hecto::router::test
