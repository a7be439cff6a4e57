// MAC addresses and the words of enums.
#include "base/net.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace hecto {
namespace {

TEST(MacAddress, IsWrittenAsIproute2Does) {
  EXPECT_EQ(to_string(MacAddress{{0x02, 0x00, 0xab, 0xcd, 0x0e, 0xff}}), "02:00:ab:cd:0e:ff");
}

TEST(MacAddress, ReadsBackInEitherCase) {
  const MacAddress mac{{0x02, 0x00, 0xab, 0xcd, 0x0e, 0xff}};
  EXPECT_EQ(parse_mac_address(to_string(mac)), mac);
  EXPECT_EQ(parse_mac_address("02:00:AB:cD:0E:FF"), mac);
}

TEST(MacAddress, NothingElseIsTaken) {
  for (const std::string_view text :
       {"", "02", "02:00:00:00:00", "02:00:00:00:00:0", "02:00:00:00:00:011", "02-00-00-00-00-01",
        "02:00:00:00:00:0g", "2:0:0:0:0:1", " 02:00:00:00:00:01",
        "02:00:00:00:00:01:", "0200.0000.0001", "02:00:00:00:00 01", "02:00:00:00:00:-1"}) {
    EXPECT_FALSE(parse_mac_address(text)) << text;
  }
}

TEST(MacAddress, EveryByteButHexDigitsIsRefusedInEveryPlace) {
  for (size_t place = 0; place < 17; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = "02:00:00:00:00:01";
      text[place] = static_cast<char>(byte);
      const bool digit = byte < 128 && std::isxdigit(byte) != 0;
      EXPECT_EQ(parse_mac_address(text).has_value(), place % 3 == 2 ? byte == ':' : digit)
          << place << " " << byte;
    }
  }
}

TEST(NetWords, AreThoseOfIproute2) {
  EXPECT_EQ(to_string(RouteOrigin::kNeighbor), "neighbor");
  EXPECT_EQ(to_string(RouteType::kUnicast), "unicast");
  EXPECT_EQ(to_string(RouteType::kProhibit), "prohibit");
  EXPECT_EQ(to_string(UrpfMode::kStrict), "strict");
  EXPECT_EQ(to_string(IpsecMode::kTunnel), "tunnel");
  EXPECT_EQ(to_string(PolicyDirection::kForward), "forward");
  EXPECT_EQ(to_string(PolicyAction::kDiscard), "discard");
}

}  // namespace
}  // namespace hecto
