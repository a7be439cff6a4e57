// What stands in front of a frame's payload, as far as interfaces have it: a tag of 802.1Q or 802.1ad,
// and behind it one of 802.1Q. A third one, or one that is cut, is left as the EtherType. Pure; reads
// no more than `bytes`.
#pragma once

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/net.hpp"

namespace hecto {

inline constexpr bool is_vlan_tag(uint16_t ether_type) noexcept {
  return ether_type == kEtherVlan || ether_type == kEtherServiceVlan;
}

struct FrameTags {
  uint32_t l2_bytes = kEthernetBytes;
  uint16_t ether_type = 0;  // as load16_native gives it
  VlanTags tags;            // a VLAN of 0 as it stands there: of a priority tag
};

// Of a frame of at least kEthernetBytes.
inline FrameTags read_frame_tags(const uint8_t* frame, uint32_t bytes) noexcept {
  FrameTags found;
  found.ether_type = load16_native(frame + 12);
  if (!is_vlan_tag(found.ether_type) || bytes < kEthernetBytes + kVlanTagBytes) return found;
  found.tags = {uint16_t(load16_be(frame + 14) & 0xfff), 0, found.ether_type == kEtherServiceVlan};
  found.ether_type = load16_native(frame + 16);
  found.l2_bytes += kVlanTagBytes;
  if (found.ether_type != kEtherVlan || bytes < kMostL2Bytes) return found;
  // A priority tag inside says nothing of the VLAN (IEEE 802.1Q section 6.9).
  if (const uint16_t inner = load16_be(frame + 18) & 0xfff; inner != 0) {
    found.tags.outer_vlan = found.tags.vlan;
    found.tags.vlan = inner;
  }
  found.ether_type = load16_native(frame + 20);
  found.l2_bytes += kVlanTagBytes;
  return found;
}

}  // namespace hecto
