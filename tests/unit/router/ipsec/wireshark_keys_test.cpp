// SAs in the words of Wireshark's esp_sa file.
#include "router/ipsec/wireshark_keys.hpp"

#include <gtest/gtest.h>

namespace hecto::router::test {
namespace {

std::string line_of(const char* cipher, const char* integrity, unsigned key_bytes,
                    unsigned integrity_bytes, bool ipv6 = false, bool esn = false) {
  SaState sa;
  sa.source = *IpAddress::parse(ipv6 ? "2001:db8::1" : "192.0.2.1");
  sa.id = {*IpAddress::parse(ipv6 ? "2001:db8::2" : "198.51.100.1"), 0x1001};
  sa.transform = *esp::transform_by_name(cipher, integrity);
  sa.esn = esn;
  esp::Keys keys;
  keys.cipher_bytes = static_cast<uint8_t>(key_bytes);
  for (unsigned i = 0; i < key_bytes; ++i) keys.cipher[i] = static_cast<uint8_t>(0xa0 + i);
  keys.integrity_bytes = static_cast<uint8_t>(integrity_bytes);
  for (unsigned i = 0; i < integrity_bytes; ++i) keys.integrity[i] = static_cast<uint8_t>(i);
  SecretBytes out;
  append_esp_sa(sa, keys, out);
  return {out.begin(), out.end()};
}

TEST(EspKeys, AreWrittenAsWiresharkReadsThem) {
  EXPECT_EQ(line_of("aes-128-gcm", "", 20, 0),
            "\"IPv4\",\"192.0.2.1\",\"198.51.100.1\",\"0x00001001\","
            "\"AES-GCM with 16 octet ICV [RFC4106]\","
            "\"0xa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3\",\"NULL\",\"\"\n");
  EXPECT_EQ(line_of("aes-128-cbc", "hmac-sha1", 16, 20, true),
            "\"IPv6\",\"2001:db8::1\",\"2001:db8::2\",\"0x00001001\",\"AES-CBC [RFC3602]\","
            "\"0xa0a1a2a3a4a5a6a7a8a9aaabacadaeaf\",\"HMAC-SHA-1-96 [RFC2404]\","
            "\"0x000102030405060708090a0b0c0d0e0f10111213\"\n");
  EXPECT_NE(line_of("aes-256-gcm", "", 36, 0, false, true).find("\"NULL\",\"\",\"64-bit\",\"0\"\n"),
            std::string::npos);
  const std::string null = line_of("null", "hmac-sha2-512", 0, 64);
  EXPECT_NE(null.find(",\"NULL\",\"\",\"HMAC-SHA-512-256 [RFC4868]\",\"0x0001"), std::string::npos)
      << null;
}

TEST(EspKeys, WhatWiresharkDoesNotKnowIsAComment) {
  EXPECT_EQ(line_of("aes-128-gmac", "", 20, 0),
            "# 198.51.100.1 0x00001001: Wireshark does not know aes-128-gmac\n");
}

}  // namespace
}  // namespace hecto::router::test
