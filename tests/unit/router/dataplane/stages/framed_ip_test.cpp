#include "router/dataplane/stages/framed_ip.hpp"

#include <gtest/gtest.h>

#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

using lookup::Family;

// What stands between the addresses of the frame and its EtherType.
Frame behind(std::vector<uint8_t> front, Frame frame, bool with_type = true) {
  frame.erase(frame.begin() + 12, frame.begin() + (with_type ? 12 : 14));
  frame.insert(frame.begin() + 12, front.begin(), front.end());
  return frame;
}

FramedIp of(const Frame& frame) {
  return find_ip(frame.data(), static_cast<uint32_t>(frame.size()));
}

TEST(FramedIp, FindsBothFamiliesInPlainFrames) {
  const Frame frame = ipv4_frame();
  const FramedIp found = of(frame);
  EXPECT_EQ(found.ip, frame.data() + kEthernetBytes);
  EXPECT_EQ(found.bytes, frame.size() - kEthernetBytes);
  EXPECT_TRUE(found.plain && found.whole && !found.damaged);
  EXPECT_EQ(of(ipv6_frame()).family, Family::kIpv6);
}

TEST(FramedIp, LooksBehindTagsLabelsAndPppoe) {
  const std::vector<uint8_t> priority = {0x81, 0, 0xe0, 0}, outer = {0x88, 0xa8, 0, 7},
                             label = {0x88, 0x47, 0, 1, 0x10, 64, 0, 1, 0x21, 64},
                             pppoe = {0x88, 0x64, 0x11, 0, 0, 9, 0, 48, 0, 0x21};
  EXPECT_TRUE(of(behind(priority, ipv4_frame())).plain);
  EXPECT_EQ(of(behind(priority, ipv4_frame())).l2_bytes, 18u);
  for (const Frame& frame :
       {behind(outer, behind(priority, ipv4_frame())), behind(outer, ipv4_frame()),
        behind(priority, behind(priority, ipv4_frame())), behind(label, ipv4_frame(), false),
        behind(pppoe, ipv4_frame(), false)}) {
    const FramedIp found = of(frame);
    ASSERT_NE(found.ip, nullptr);
    EXPECT_EQ(found.ip[0], 0x45);
    EXPECT_FALSE(found.plain);
    EXPECT_FALSE(found.damaged);
  }
}

TEST(FramedIp, TellsWhatIsNoIpFromIpThatIsDamaged) {
  Frame arp = ipv4_frame();
  arp[13] = 6;
  EXPECT_EQ(of(arp).ip, nullptr);
  Frame cut = ipv4_frame();
  cut.resize(kEthernetBytes + 19);
  EXPECT_TRUE(of(cut).damaged);
  Frame version = ipv4_frame();
  version[kEthernetBytes] = 0x65;
  EXPECT_TRUE(of(version).damaged);
  Frame padded = ipv4_frame();
  padded.push_back(0);
  EXPECT_FALSE(of(padded).whole);
  EXPECT_EQ(of(padded).bytes, padded.size() - kEthernetBytes - 1);
  // Of every length, exactly as long.
  const Frame whole = behind({0x88, 0x47, 0, 1, 0x10, 64, 0, 1, 0x21, 64}, ipv6_frame(), false);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Frame part(whole.begin(), whole.begin() + static_cast<long>(bytes));
    const FramedIp found = of(part);
    EXPECT_LE(found.l2_bytes + (found.ip == nullptr ? 0 : found.bytes), bytes);
  }
}

TEST(FramedIp, NeighborDiscoveryOfThisLinkIsKnownAndNothingElse) {
  FrameOptions options;
  options.source = "fe80::1";
  options.destination = "ff02::1:ff00:1";
  options.protocol = 58;
  options.ttl = 255;
  Frame solicitation = ipv6_frame(options);
  uint8_t* ip = solicitation.data() + kEthernetBytes;
  const auto bytes = static_cast<uint32_t>(solicitation.size() - kEthernetBytes);
  ip[40] = 135;
  EXPECT_TRUE(keeps_link_alive(Family::kIpv6, ip, bytes));
  ip[7] = 254;
  EXPECT_FALSE(keeps_link_alive(Family::kIpv6, ip, bytes)) << "a router has passed it on";
  ip[7] = 1;
  ip[40] = 143;
  EXPECT_TRUE(keeps_link_alive(Family::kIpv6, ip, bytes));
  ip[24] = 0x20;
  EXPECT_FALSE(keeps_link_alive(Family::kIpv6, ip, bytes)) << "MLD to one host";
  ip[7] = 255;
  ip[40] = 128;
  EXPECT_FALSE(keeps_link_alive(Family::kIpv6, ip, bytes)) << "an echo";
  const Frame v4 = ipv4_frame();
  EXPECT_FALSE(keeps_link_alive(Family::kIpv4, v4.data() + kEthernetBytes, 20));
}

}  // namespace
}  // namespace hecto::router::test
