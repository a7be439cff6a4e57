// The blocks of a pcapng file, byte for byte.
#include "router/dataplane/observe/pcapng.hpp"

#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/observe/pcapng_reader.hpp"

namespace hecto::router::test {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    text += "0123456789abcdef"[c & 0xf];
  }
  return text;
}

TEST(PcapngWriter, WritesASectionHeader) {
  PcapngWriter writer;
  writer.section("hecto");
  EXPECT_EQ(hex(writer.take()),
            "0a0d0d0a2c0000004d3c2b1a01000000ffffffffffffffff"  // block, magic, version, length
            "04000500686563746f000000"                          // shb_userappl, padded
            "000000002c000000");
  EXPECT_EQ(writer.size(), 0u);
}

TEST(PcapngWriter, NumbersInterfacesAndTellsTheirLinkTypeAndNanoseconds) {
  PcapngWriter writer;
  EXPECT_EQ(writer.interface("a rx", "in", LinkType::kEthernet, 96), 0u);
  EXPECT_EQ(hex(writer.take()),
            "010000003000000001000000600000000200040061207278"
            "03000200696e0000090001000900000000000000"
            "30000000");
  EXPECT_EQ(writer.interface("decap inner", "", LinkType::kRawIp, 96), 1u);
  const auto block = pcapng_blocks(writer.take()).at(0);
  EXPECT_EQ(block.number<uint16_t>(0), 101u);
}

TEST(PcapngWriter, WritesAPacketWithItsOptions) {
  PcapngWriter writer;
  const std::byte bytes[] = {std::byte{0xaa}, std::byte{0xbb}, std::byte{0xcc}};
  PcapngPacket packet;
  packet.interface = 2;
  packet.time_ns = 0x1122334455667788;
  packet.bytes = bytes;
  packet.length = 1500;
  packet.direction = PacketDirection::kOutbound;
  packet.lost = 5;
  packet.queue = 3;
  packet.comment = "SPI 1";
  writer.packet(packet);
  EXPECT_EQ(hex(writer.take()),
            "0600000050000000020000004433221188776655"
            "03000000dc050000aabbcc00"  // captured, original, bytes, padding
            "0200040002000000"          // epb_flags: outbound
            "040008000500000000000000"  // epb_dropcount
            "0600040003000000"          // epb_queue
            "010005005350492031000000"  // opt_comment
            "0000000050000000");
}

TEST(PcapngWriter, LeavesOutWhatIsNotKnown) {
  PcapngWriter writer;
  writer.packet({});
  EXPECT_EQ(hex(writer.take()),
            "0600000024000000000000000000000000000000000000000000000000000000"
            "24000000");
}

TEST(PcapngWriter, WritesStatistics) {
  PcapngWriter writer;
  writer.statistics(1, {10, 0x100000002, 7, 2, 5});
  EXPECT_EQ(hex(writer.take()),
            "0500000064000000010000000100000002000000"
            "02000800000000000a000000"  // isb_starttime, high half first
            "030008000100000002000000"
            "040008000700000000000000"  // isb_ifrecv
            "050008000200000000000000"  // isb_ifdrop
            "060008000700000000000000"  // isb_filteraccept
            "080008000500000000000000"  // isb_usrdeliv
            "0000000064000000");
}

}  // namespace
}  // namespace hecto::router::test
