// A capture as lines, from blocks made by hand.
#include "router/cli/capture_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace hecto::cli {
namespace {

template <typename Number>
void put(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_option(std::string& to, uint16_t code, const std::string& value) {
  put(to, code);
  put(to, static_cast<uint16_t>(value.size()));
  to += value + std::string((4 - value.size() % 4) % 4, '\0');
}
std::string block(uint32_t type, const std::string& body) {
  std::string whole;
  const auto size = static_cast<uint32_t>(body.size() + 12);
  put(whole, type);
  put(whole, size);
  whole += body;
  put(whole, size);
  return whole;
}
std::string interface(uint16_t link_type, const std::string& name) {
  std::string body;
  put(body, link_type);
  put(body, uint16_t{0});
  put(body, uint32_t{65535});
  put_option(body, 2, name);
  put_option(body, 0, {});
  return block(1, body);
}
std::string packet(uint32_t interface, const std::string& bytes, const std::string& comment = {}) {
  constexpr uint64_t kTime_ns = 1'700'000'000'123'456'789;  // 22:13:20 UTC
  std::string body;
  put(body, interface);
  put(body, static_cast<uint32_t>(kTime_ns >> 32));
  put(body, static_cast<uint32_t>(kTime_ns));
  put(body, static_cast<uint32_t>(bytes.size()));
  put(body, static_cast<uint32_t>(bytes.size()));
  body += bytes + std::string((4 - bytes.size() % 4) % 4, '\0');
  if (!comment.empty()) put_option(body, 1, comment);
  put_option(body, 0, {});
  return block(6, body);
}

// 10.1.0.1 > 10.2.0.1 UDP 5000 > 53
const std::string kIp(
    "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\1\0\1\x0a\2\0\1\x13\x88\0\x35\0\x08\0\0", 28);
const std::string kFrame = std::string("\2\0\0\0\0\1\2\0\0\0\0\2\x08\0", 14) + kIp;

class CaptureTextTest : public testing::Test {
 protected:
  CaptureTextTest() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  CaptureText text_;
};

TEST_F(CaptureTextTest, SaysWhenWhereAndWhat) {
  const auto lines = text_.lines(interface(1, "wan0 rx") + packet(0, kFrame));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "22:13:20.123456 wan0 rx  IPv4 10.1.0.1 > 10.2.0.1 UDP 5000 > 53, 28 bytes, TTL 64");
}

TEST_F(CaptureTextTest, RemembersInterfacesFromOnePieceToTheNext) {
  EXPECT_TRUE(text_.lines(interface(1, "wan0 rx") + interface(101, "decap inner")).empty());
  const auto lines = text_.lines(packet(1, kIp) + packet(0, kFrame, "no_route"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("decap inner IPv4 10.1.0.1"), std::string::npos) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("TTL 64 (no_route)")) << lines[1];
}

// Whatever is cut off, or names what is not there, is passed over within its bounds.
TEST_F(CaptureTextTest, ReadsNothingThatIsNotThere) {
  const std::string whole = interface(1, "wan0 rx") + packet(0, kFrame, "comment");
  for (size_t end = 0; end < whole.size(); ++end) {
    CaptureText text;
    const std::string exact = whole.substr(0, end);
    EXPECT_TRUE(text.lines(exact).empty()) << end;
  }
  EXPECT_TRUE(text_.lines(packet(7, kFrame)).empty());
  std::string lying = packet(0, kFrame);
  const uint32_t captured = 1 << 30;
  std::memcpy(lying.data() + 8 + 12, &captured, sizeof captured);
  EXPECT_TRUE(text_.lines(interface(1, "x") + lying).empty());
}

}  // namespace
}  // namespace hecto::cli
