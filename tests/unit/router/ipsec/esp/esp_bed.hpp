// SAs, packets with room around them, and an engine of each library, for tests of ESP.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::esp {

inline constexpr std::array<Family, 2> kFamilies = {Family::kIpv4, Family::kIpv6};

using Bytes = std::vector<uint8_t>;

inline Bytes random_bytes(std::mt19937_64& random, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Every combination that has a name.
inline std::vector<Transform> all_transforms() {
  std::vector<Transform> all;
  for (const char* aead :
       {"aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "aes-128-gcm-12", "aes-192-gcm-12",
        "aes-256-gcm-12", "aes-128-gcm-8", "aes-192-gcm-8", "aes-256-gcm-8", "aes-128-gmac",
        "aes-192-gmac", "aes-256-gmac", "chacha20-poly1305"}) {
    all.push_back(transform_by_name(aead, "").value());
  }
  for (const char* cipher : {"null", "aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "aes-128-ctr",
                             "aes-192-ctr", "aes-256-ctr"}) {
    for (const char* hash :
         {"hmac-sha1", "hmac-sha2-256", "hmac-sha2-256-96", "hmac-sha2-384", "hmac-sha2-512"})
      all.push_back(transform_by_name(cipher, hash).value());
  }
  return all;
}

inline SaState sa_state(const Transform& transform, std::mt19937_64& random,
                        Family outer = Family::kIpv4, IpsecMode mode = IpsecMode::kTunnel) {
  SaState state;
  const bool v4 = outer == Family::kIpv4;
  state.source = *IpAddress::parse(v4 ? "192.0.2.1" : "2001:db8::1");
  state.id = {*IpAddress::parse(v4 ? "192.0.2.2" : "2001:db8::2"), 0xc0ffee01};
  state.mode = mode;
  state.transform = transform;
  state.keys.cipher_bytes = static_cast<uint8_t>(transform.key_bytes + transform.salt_bytes());
  state.keys.integrity_bytes = static_cast<uint8_t>(transform.integrity_key_bytes());
  for (unsigned i = 0; i < state.keys.cipher_bytes; ++i)
    state.keys.cipher[i] = static_cast<uint8_t>(random());
  for (unsigned i = 0; i < state.keys.integrity_bytes; ++i)
    state.keys.integrity[i] = static_cast<uint8_t>(random());
  state.replay_window = 64;
  return state;
}

// A whole IP packet of `bytes` with random data; UDP without a checksum inside.
inline Bytes ip_packet(std::mt19937_64& random, Family family, size_t bytes) {
  Bytes packet = random_bytes(random, bytes);
  uint8_t* ip = packet.data();
  if (family == Family::kIpv4) {
    ip[0] = 0x45;
    ip[1] = 0;
    store16_be(ip + 2, static_cast<uint32_t>(bytes));
    store16_be(ip + 6, 0x4000);
    ip[8] = 64;
    ip[9] = 17;
    store16_be(ip + 10, 0);
    store16_be(ip + 10, ipv4_checksum(ip, 20));
  } else {
    store32_be(ip, 0x60000000);
    store16_be(ip + 4, static_cast<uint32_t>(bytes) - 40);
    ip[6] = 17;
    ip[7] = 64;
  }
  const size_t udp = family == Family::kIpv4 ? 20 : 40;
  if (bytes >= udp + 8) store16_be(ip + udp + 6, 0);
  return packet;
}

// A packet in a buffer with room on both sides.
class Frame {
 public:
  explicit Frame(const Bytes& packet, Sa* sa = nullptr, size_t headroom = 128,
                 size_t tailroom = 512)
      : buffer_(headroom + packet.size() + tailroom) {
    std::copy(packet.begin(), packet.end(), buffer_.begin() + static_cast<long>(headroom));
    packet_ = {buffer_.data() + headroom,
               static_cast<uint32_t>(packet.size()),
               static_cast<uint16_t>(headroom),
               static_cast<uint16_t>(tailroom),
               sa,
               Reason::kNone};
  }
  Packet& packet() { return packet_; }
  Bytes bytes() const { return {packet_.ip, packet_.ip + packet_.bytes}; }

 private:
  Bytes buffer_;
  Packet packet_;
};

// Those that run on this CPU: every test of ESP is done by each of them.
inline std::vector<CryptoLibrary> libraries() {
  std::vector<CryptoLibrary> all = {CryptoLibrary::kIpsecMb, CryptoLibrary::kOpenSsl};
  std::erase_if(all, [](CryptoLibrary library) { return !usable(library); });
  return all;
}
inline std::string library_name(const testing::TestParamInfo<CryptoLibrary>& info) {
  return info.param == CryptoLibrary::kIpsecMb ? "IpsecMb" : "OpenSsl";
}

class EspTest : public testing::TestWithParam<CryptoLibrary> {
 protected:
  std::unique_ptr<Sa> sa(const SaState& state) {
    auto made = Sa::create(state, GetParam());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  Bytes out(Sa& sa, const Bytes& packet, Reason expected = Reason::kNone) {
    return pass(sa, packet, true, expected);
  }
  Bytes in(Sa& sa, const Bytes& packet, Reason expected = Reason::kNone) {
    return pass(sa, packet, false, expected);
  }

  std::mt19937_64 random{test_seed()};
  std::unique_ptr<Engine> engine = Engine::create(GetParam()).value();

 private:
  Bytes pass(Sa& sa, const Bytes& packet, bool outbound, Reason expected) {
    Frame frame(packet, &sa);
    if (outbound)
      engine->outbound({&frame.packet(), 1}, 100, 64);
    else
      engine->inbound({&frame.packet(), 1}, 100);
    EXPECT_EQ(info(frame.packet().reason).name, info(expected).name);
    return frame.bytes();
  }
};

}  // namespace hecto::router::esp
