#include "router/dataplane/stages/framed_ip.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

constexpr uint32_t kLabelBytes = 4, kPppoeBytes = 8;  // the latter with PPP's own type

bool is_tag(uint16_t type) noexcept {
  return is_vlan_tag(type) || type == kEtherStackedVlan;
}

// Behind the labels: the EtherType that the first nibble means, 0 where there is none.
uint16_t behind_labels(const uint8_t* frame, uint32_t bytes, uint32_t& at) noexcept {
  while (at + kLabelBytes < bytes) {
    const bool bottom = (frame[at + 2] & 1) != 0;
    at += kLabelBytes;
    if (!bottom) continue;
    return frame[at] >> 4 == 4 ? kEtherIpv4 : frame[at] >> 4 == 6 ? kEtherIpv6 : uint16_t{0};
  }
  return 0;
}

void measure(FramedIp& found, uint32_t available) noexcept {
  const uint8_t* ip = found.ip;
  const bool v4 = found.family == Family::kIpv4;
  const uint32_t least = v4 ? kIpv4Bytes : kIpv6Bytes;
  found.bytes = available;
  found.damaged = available < least || ip[0] >> 4 != (v4 ? 4 : 6) ||
                  (v4 && ((ip[0] & 0xf) * 4u < kIpv4Bytes || (ip[0] & 0xf) * 4u > available));
  if (found.damaged) return;
  const uint32_t total = v4 ? load16_be(ip + 2) : load16_be(ip + 4) + kIpv6Bytes;
  found.whole = total == available;
  found.damaged = total < least;
  found.bytes = std::min(total, available);
}

}  // namespace

FramedIp find_ip(const uint8_t* frame, uint32_t bytes) noexcept {
  FramedIp found;
  if (bytes < kEthernetBytes) return found;
  uint32_t at = kEthernetBytes;
  uint16_t type = load16_native(frame + 12);
  unsigned tags = 0;
  bool labels = false;
  for (; is_tag(type) && at + kVlanTagBytes <= bytes; ++tags) {
    found.plain = type == kEtherVlan;
    type = load16_native(frame + at + 2);
    at += kVlanTagBytes;
  }
  if (type == kEtherMpls || type == kEtherMplsMulticast) {
    labels = true;
    type = behind_labels(frame, bytes, at);
  } else if (type == kEtherPppoe && at + kPppoeBytes <= bytes) {
    constexpr uint16_t kPppIpv4 = 0x0021, kPppIpv6 = 0x0057;
    const uint16_t ppp = load16_be(frame + at + 6);
    labels = true;
    type = ppp == kPppIpv4 ? kEtherIpv4 : ppp == kPppIpv6 ? kEtherIpv6 : uint16_t{0};
    at += kPppoeBytes;
  }
  found.plain = !labels && (tags == 0 || (tags == 1 && found.plain));
  if (type != kEtherIpv4 && type != kEtherIpv6) return found;
  found.family = type == kEtherIpv4 ? Family::kIpv4 : Family::kIpv6;
  found.ip = frame + at;
  found.l2_bytes = at;
  measure(found, bytes - at);
  return found;
}

bool keeps_link_alive(Family family, const uint8_t* ip, uint32_t bytes) noexcept {
  if (family != Family::kIpv6) return false;
  constexpr uint8_t kHopByHop = 0, kIcmpV6 = 58;
  uint32_t at = kIpv6Bytes;
  uint8_t protocol = ip[6];
  if (protocol == kHopByHop && at + 8 <= bytes) {
    protocol = ip[at];
    at += (ip[at + 1] + 1u) * 8;
  }
  if (protocol != kIcmpV6 || at >= bytes) return false;
  const uint8_t type = ip[at], hops = ip[7];
  if (type >= 133 && type <= 137) return hops == 255;
  const bool listener = (type >= 130 && type <= 132) || type == 143;
  const bool link_local = ip[8] == 0xfe && (ip[9] & 0xc0) == 0x80;
  const bool from_nobody = std::all_of(ip + 8, ip + 24, [](uint8_t byte) { return byte == 0; });
  return listener && hops == 1 && ip[24] == 0xff && (link_local || from_nobody);
}

}  // namespace hecto::router
