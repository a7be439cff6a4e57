// The text that keeps what the API was asked to keep: read as it was written, or not at all.
#include "router/control/kept_text.hpp"

#include <gtest/gtest.h>

#include "tests/unit/router/control/kept_items.hpp"

namespace hecto::router::test {
namespace {

config::KeptItems some_items() {
  config::IpsecSaConfig cbc = sa_config(0x1002);
  cbc.cipher = "aes-128-cbc";
  cbc.integrity = "hmac-sha1";
  cbc.cipher_key = *config::SecretKey::parse("0x000102030405060708090a0b0c0d0e0f");
  cbc.integrity_key = *config::SecretKey::parse("0x000102030405060708090a0b0c0d0e0f10111213");
  cbc.encapsulation = UdpEncapsulation{};
  cbc.esn = true;
  cbc.replay_window = 128;
  config::RouteConfig nowhere;
  nowhere.to = net("2001:db8:1::/48");
  nowhere.type = RouteType::kBlackhole;
  nowhere.metric = 7;
  config::RouteConfig both = via("203.0.113.0/24", "192.0.2.9");
  both.via.push_back({ip("192.0.2.8"), "wan0", 3});
  return {{both, nowhere}, {sa_config(0x1001), cbc}, {policy_config()}};
}

std::string text_of(const SecretBytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(KeptText, ReadsWhatItWrote) {
  const auto read = kept_items_from(text_of(kept_text(some_items(), kKeptSocket)), kKeptSocket);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, some_items());
  EXPECT_EQ(kept_items_from(text_of(kept_text({}, kKeptSocket)), kKeptSocket), config::KeptItems{});
}

TEST(KeptText, NothingOfItWhereAByteIsMissingOrAnother) {
  const std::string text = text_of(kept_text(some_items(), kKeptSocket));
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(kept_items_from(text.substr(0, length), kKeptSocket)) << length;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] ^= 1;
    EXPECT_FALSE(kept_items_from(other, kKeptSocket)) << at;
  }
  EXPECT_FALSE(kept_items_from(text + "\n", kKeptSocket));
}

TEST(KeptText, SaysWhoseOrWhichVersionItIs) {
  const std::string text = text_of(kept_text(some_items(), kKeptSocket));
  EXPECT_EQ(kept_items_from(text, "/run/u.sock").error().message,
            "is another instance's (of /run/t/api.sock)");
  EXPECT_EQ(kept_items_from("hecto kept 2\n" + text.substr(13), kKeptSocket).error().message,
            "is of version 2, and this hectod reads version 1");
  EXPECT_EQ(kept_items_from("\x7f"
                            "ELF",
                            kKeptSocket)
                .error()
                .message,
            "is something else, or damaged");
}

}  // namespace
}  // namespace hecto::router::test
