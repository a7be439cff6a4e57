// Any bytes as a packet for any SA: refused by name, or a whole IP packet within its buffer. The
// last bytes choose the SA; with NULL + HMAC the fuzzer may also ask for a right ICV, so that what
// lies behind it is reached.
#include <openssl/hmac.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/headers.hpp"
#include "router/ipsec/esp/sa.hpp"

namespace {

using namespace hecto::router;
using namespace hecto::router::esp;

SaState state_of(uint8_t choice) {
  constexpr const char* kNames[8][2] = {
      {"null", "hmac-sha1"},        {"null", "hmac-sha2-256"},
      {"aes-128-cbc", "hmac-sha1"}, {"aes-256-ctr", "hmac-sha2-512"},
      {"aes-128-gcm", ""},          {"aes-192-gmac", ""},
      {"chacha20-poly1305", ""},    {"null", "hmac-sha2-384"},
  };
  SaState state;
  const bool v4 = (choice & 8) != 0;
  state.source = *IpAddress::parse(v4 ? "192.0.2.1" : "2001:db8::1");
  state.id = {*IpAddress::parse(v4 ? "192.0.2.2" : "2001:db8::2"), 0x01010101};
  state.transform = transform_by_name(kNames[choice & 7][0], kNames[choice & 7][1]).value();
  state.mode = (choice & 16) != 0 ? hecto::IpsecMode::kTunnel : hecto::IpsecMode::kTransport;
  if ((choice & 32) != 0) state.encapsulation = hecto::UdpEncapsulation{};
  state.keys.cipher_bytes =
      static_cast<uint8_t>(state.transform.key_bytes + state.transform.salt_bytes());
  state.keys.integrity_bytes = static_cast<uint8_t>(state.transform.integrity_key_bytes());
  return state;
}

// Where ESP would begin if the headers were plain: there a right ICV of HMAC-SHA1 is put.
void authenticate(std::vector<uint8_t>& packet, const Sa& sa) {
  const size_t front = (sa.shape().outer_ipv4 ? 20U : 40U) + sa.shape().udp_bytes;
  if (packet.size() < front + 8 + 12) return;
  const std::vector<uint8_t> key(20);
  uint8_t icv[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  HMAC(EVP_sha1(), key.data(), 20, packet.data() + front, packet.size() - front - 12, icv, &bytes);
  memcpy(packet.data() + packet.size() - 12, icv, 12);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto engine = Engine::create().value();
  if (size < 1 || size > 4096) return 0;
  const uint8_t choice = data[size - 1];
  const auto sa = Sa::create(state_of(choice)).value();
  std::vector<uint8_t> bytes(data, data + size - 1);
  if ((choice & 7) == 0 && (choice & 64) != 0) authenticate(bytes, *sa);
  Packet packet{bytes.data(),        static_cast<uint32_t>(bytes.size()), 0, 0, sa.get(),
                hecto::Reason::kNone};
  engine->inbound({&packet, 1}, 1);
  if (packet.reason != hecto::Reason::kNone) return 0;
  const bool inside = packet.ip >= bytes.data() &&
                      packet.ip + packet.bytes + packet.tailroom == bytes.data() + bytes.size();
  if (!inside || ip_bytes(packet.ip, packet.bytes) != packet.bytes) std::abort();
  return 0;
}
