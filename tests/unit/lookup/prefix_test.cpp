#include "lookup/prefix.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::lookup {
namespace {

TEST(Ipv4AddressText, ParsesDottedQuads) {
  EXPECT_EQ(Ipv4Address::parse("0.0.0.0")->value, 0u);
  EXPECT_EQ(Ipv4Address::parse("192.0.2.1")->value, 0xc0000201u);
  EXPECT_EQ(Ipv4Address::parse("255.255.255.255")->value, 0xffffffffu);
}

TEST(Ipv4AddressText, RefusesEverythingElse) {
  for (const char* text :
       {"",         ".",        "1",         "1.2.3",     "1.2.3.",   "1.2.3.4.", "1.2.3.4.5",
        ".1.2.3.4", "1..2.3",   "256.0.0.1", "1.2.3.400", "01.2.3.4", "1.2.3.00", "1.2.3.4 ",
        " 1.2.3.4", "1.2.3.-4", "+1.2.3.4",  "0x1.2.3.4", "1.2.3.4a", "::1"}) {
    EXPECT_FALSE(Ipv4Address::parse(text)) << text;
  }
}

TEST(Ipv6AddressText, ParsesAllForms) {
  EXPECT_EQ(Ipv6Address::parse("::")->to_string(), "::");
  EXPECT_EQ(Ipv6Address::parse("1:2:3:4:5:6:7:8")->to_string(), "1:2:3:4:5:6:7:8");
  EXPECT_EQ(Ipv6Address::parse("2001:DB8::0001")->to_string(), "2001:db8::1");
  EXPECT_EQ(Ipv6Address::parse("1:2:3:4:5:6:7::")->to_string(), "1:2:3:4:5:6:7:0");
  EXPECT_EQ(Ipv6Address::parse("::2:3:4:5:6:7:8")->to_string(), "0:2:3:4:5:6:7:8");
  EXPECT_EQ(Ipv6Address::parse("::ffff:192.0.2.1")->to_string(), "::ffff:192.0.2.1");
  EXPECT_EQ(Ipv6Address::parse("64:ff9b::192.0.2.33")->to_string(), "64:ff9b::c000:221");
}

TEST(Ipv6AddressText, RefusesEverythingElse) {
  for (const char* text : {"",
                           ":",
                           ":::",
                           "1",
                           "1:",
                           ":1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8:",
                           "1::2::3",
                           "1:::2",
                           "12345::",
                           "g::",
                           "::1%eth0",
                           "1:2:3:4:5:6:7:8::",
                           "::1:2:3:4:5:6:7:8",
                           "::1.2.3",
                           "::1.2.3.4.5",
                           "::1.2.3.256",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "1.2.3.4",
                           "::1 ",
                           "::1.2.3.4:5",
                           "1:2:3:4:5:1.2.3.4",
                           "1::2:3:4:5:6:1.2.3.4.5"}) {
    EXPECT_FALSE(Ipv6Address::parse(text)) << text;
  }
}

// RFC 5952 section 4.
TEST(Ipv6AddressText, WritesTheShortestForm) {
  EXPECT_EQ(Ipv6Address::parse("2001:db8:0:0:1:0:0:1")->to_string(), "2001:db8::1:0:0:1");
  EXPECT_EQ(Ipv6Address::parse("2001:db8:0:1:1:1:1:1")->to_string(), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(Ipv6Address::parse("2001:0:0:1:0:0:0:1")->to_string(), "2001:0:0:1::1");
}

TEST(Ipv6AddressText, AgreesWithInetPtonAndNtop) {
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 20000; ++round) {
    Ipv6Address address = random_address(rng, Ipv6Address{});
    uint64_t zero = rng();  // groups that become zero, in half of the rounds most of them
    if (rng() % 2) zero |= rng();
    for (int i = 0; i < 8; ++i) {
      if (zero >> i & 1) address.bytes[2 * i] = address.bytes[2 * i + 1] = 0;
    }
    char text[INET6_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET6, address.bytes.data(), text, sizeof(text)), nullptr);
    ASSERT_EQ(address.to_string(), text);
    ASSERT_EQ(Ipv6Address::parse(text), address) << text;
  }
}

TEST(Ipv6AddressText, AcceptsExactlyWhatInetPtonAccepts) {
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  constexpr std::string_view kAlphabet = ":::::::0019af.";
  int accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text(rng() % 24, ' ');
    for (char& c : text) c = kAlphabet[rng() % kAlphabet.size()];
    in6_addr expected;
    bool good = inet_pton(AF_INET6, text.c_str(), &expected) == 1;
    auto address = Ipv6Address::parse(text);
    ASSERT_EQ(address.has_value(), good) << text;
    if (good) {
      ASSERT_EQ(std::memcmp(address->bytes.data(), &expected, 16), 0) << text;
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(PrefixText, ParsesLengthsAndHosts) {
  EXPECT_EQ(Prefix4::parse("10.0.0.0/8")->length, 8);
  EXPECT_EQ(Prefix4::parse("0.0.0.0/0")->length, 0);
  EXPECT_EQ(Prefix4::parse("10.1.2.3")->to_string(), "10.1.2.3/32");
  EXPECT_EQ(Prefix6::parse("2001:db8::/32")->to_string(), "2001:db8::/32");
  EXPECT_EQ(Prefix6::parse("::1")->length, 128);
}

TEST(PrefixText, RefusesHostBitsAndBadLengths) {
  for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1",
                           "10.0.0.0/8/8", "10.0.0.0/8 ", "/8", "10.0.0.0/1000", "128.0.0.0/0"}) {
    EXPECT_FALSE(Prefix4::parse(text)) << text;
  }
  for (const char* text : {"2001:db8::1/64", "::/129", "::/", "::/0x1", "8000::/0"}) {
    EXPECT_FALSE(Prefix6::parse(text)) << text;
  }
}

TEST(PrefixText, OfBothFamiliesGoesThereAndBack) {
  for (const char* text : {"10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8::/32", "::1/128"}) {
    EXPECT_EQ(IpPrefix::parse(text)->to_string(), text);
  }
  EXPECT_FALSE(IpPrefix::parse("192.0.2.1/24"));
  EXPECT_EQ(IpPrefix::parse_interface("192.0.2.1/24")->to_string(), "192.0.2.1/24");
  EXPECT_EQ(IpPrefix::parse_interface("192.0.2.1/24")->network().to_string(), "192.0.2.0/24");
  EXPECT_FALSE(IpPrefix::parse_interface("192.0.2.1/64"));
  EXPECT_FALSE(IpAddress::parse("192.0.2.1/24"));
}

TEST(IpPrefix, ContainsOnlyItsOwnFamily) {
  auto net = *IpPrefix::parse_interface("192.0.2.1/24");
  EXPECT_TRUE(net.contains(*IpAddress::parse("192.0.2.255")));
  EXPECT_FALSE(net.contains(*IpAddress::parse("192.0.3.0")));
  EXPECT_FALSE(IpPrefix::parse("::/0")->contains(*IpAddress::parse("192.0.2.1")));
}

TEST(Prefix, ClearsHostBitsAtEveryLength) {
  Ipv6Address ones;
  ones.bytes.fill(0xff);
  for (unsigned length = 0; length <= 128; ++length) {
    auto prefix = Prefix6::make(ones, static_cast<uint8_t>(length));
    for (unsigned i = 0; i < 128; ++i) {
      ASSERT_EQ(prefix.address.bytes[i / 8] >> (7 - i % 8) & 1, i < length) << length;
    }
    if (length > 32) continue;
    uint64_t expected = 0xffffffff00000000u >> length & 0xffffffff;
    ASSERT_EQ(Prefix4::make({0xffffffff}, static_cast<uint8_t>(length)).address.value, expected);
  }
}

TEST(Prefix, ContainsItselfAndLongerOnes) {
  auto outer = *Prefix4::parse("10.0.0.0/8");
  EXPECT_TRUE(outer.contains(outer));
  EXPECT_TRUE(outer.contains(*Prefix4::parse("10.255.0.0/16")));
  EXPECT_FALSE(outer.contains(*Prefix4::parse("0.0.0.0/0")));
  EXPECT_FALSE(outer.contains(*Prefix4::parse("11.0.0.0/16")));
}

}  // namespace
}  // namespace hecto::lookup
