#include "router/dataplane/stages/linux_check.hpp"

#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/policy_verdict.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"
#include "router/ipsec/esp/headers.hpp"
#include "router/ipsec/esp/sad.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

struct Upper {
  uint8_t protocol = 0;
  const uint8_t* data = nullptr;  // null: it is not there
  uint32_t bytes = 0;
  bool later = false;  // a fragment that is not the first
};

Upper upper4(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint32_t header = (ip[0] & 0xf) * 4u;
  return {ip[9], ip + header, bytes < header ? 0 : bytes - header,
          (load16_be(ip + 6) & 0x1fff) != 0};
}

Upper upper6(const uint8_t* ip, uint32_t bytes) noexcept {
  using namespace esp;
  Upper upper{ip[6], ip + kIpv6Bytes, bytes - kIpv6Bytes, false};
  for (unsigned i = 0; i < kMaxExtensions && upper.bytes >= 8; ++i) {
    const bool fragment = upper.protocol == kProtocolFragment;
    if (!fragment && upper.protocol != kProtocolHopByHop && upper.protocol != kProtocolRouting &&
        upper.protocol != kProtocolDestinationOptions)
      break;
    const uint32_t length = fragment ? 8 : (upper.data[1] + 1u) * 8;
    upper.later |= fragment && (load16_be(upper.data + 2) & 0xfff8) != 0;
    upper.protocol = upper.data[0];
    if (length > upper.bytes) return {upper.protocol, nullptr, 0, upper.later};
    upper.data += length;
    upper.bytes -= length;
    if (upper.later) break;
  }
  return upper;
}

}  // namespace

// Sent by the one who sends by the SA; another's that Linux passes on is not meant.
bool LinuxCheck::is_ours(const FramedIp& frame, const uint8_t* spi, bool in_udp) const noexcept {
  const bool v4 = frame.family == Family::kIpv4;
  const size_t address_bytes = v4 ? 4 : 16;
  const uint8_t* const from = frame.ip + (v4 ? 12 : 8);
  const esp::Sa* sa =
      state_.tables.sad->find(Spi(load32_be(spi)), frame.family, from + address_bytes);
  return sa != nullptr && (sa->shape().udp_bytes != 0) == in_udp &&
         std::memcmp(sa->source.bytes.data(), from, address_bytes) == 0;
}

bool LinuxCheck::made_by_linux(const FramedIp& frame, InterfaceId interface,
                               const VrfTables& tables) const noexcept {
  const bool v4 = frame.family == Family::kIpv4;
  const Upper upper = v4 ? upper4(frame.ip, frame.bytes) : upper6(frame.ip, frame.bytes);
  if (upper.protocol == esp_parse::kProtocolEsp) {
    // Of a later fragment nobody sees the SPI; one from here is of no other's SA.
    if (upper.later || upper.bytes < 4)
      return tables.is_own(interface, frame.family, frame.ip + (v4 ? 12 : 8));
    return is_ours(frame, upper.data, false);
  }
  constexpr uint32_t kBehindUdp = esp_parse::kUdpBytes + 4;
  return upper.protocol == esp_parse::kProtocolUdp && !upper.later && upper.bytes >= kBehindUdp &&
         is_ours(frame, upper.data + esp_parse::kUdpBytes, true);
}

Reason LinuxCheck::check(const FramedIp& frame, InterfaceId interface, bool by_policy,
                         const VrfTables& tables) const noexcept {
  if (frame.ip == nullptr) return Reason::kNone;
  if (frame.damaged) return Reason::kPolicyUnjudged;
  if (made_by_linux(frame, interface, tables)) return Reason::kEspOfLinux;
  if (by_policy) return Reason::kNone;
  const esp::FlowKey key = esp::flow_key(frame.family, frame.ip, frame.bytes);
  if (esp_parse::is_ike(key.protocol, key.source_port) ||
      keeps_link_alive(frame.family, frame.ip, frame.bytes))
    return Reason::kNone;
  return OnePacket(state_.tables, key).out_in_clear(0);
}

}  // namespace hecto::router
