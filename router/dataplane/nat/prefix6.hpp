// IPv6 prefix translation (RFC 6296): the prefix is replaced, and one word of the rest changes so
// that no checksum does. Prefixes of up to 64 bits, both of one length.
#pragma once

#include <array>
#include <cstdint>

#include "lookup/prefix.hpp"

namespace hecto::router::nat {

class Prefix6 {
 public:
  Prefix6() = default;
  Prefix6(const lookup::IpPrefix& inside, const lookup::IpPrefix& outside) noexcept;

  bool is_inside(const uint8_t* address) const noexcept { return matches(inside_, address); }
  bool is_outside(const uint8_t* address) const noexcept { return matches(outside_, address); }
  // False where there is no such address in the other prefix (§3.5), which is as it was then.
  bool to_outside(uint8_t* address) const noexcept { return replace(address, outside_, adjust_); }
  bool to_inside(uint8_t* address) const noexcept {
    return replace(address, inside_, static_cast<uint16_t>(~adjust_));
  }

 private:
  bool matches(uint64_t prefix, const uint8_t* address) const noexcept;
  bool replace(uint8_t* address, uint64_t prefix, uint16_t adjust) const noexcept;

  uint64_t inside_ = 0, outside_ = 0;  // native order of the first eight bytes
  uint64_t mask_ = 0;
  uint16_t adjust_ = 0;    // that takes back what the prefix adds
  bool in_subnet_ = true;  // it is put into bits 48 to 63 (§3.4), else behind the first 64 (§3.5)
};

// The IPv6 packet that the ICMPv6 error at `ip` is about; null where it is none, or not whole.
uint8_t* find_embedded6(uint8_t* ip, uint32_t bytes) noexcept;

}  // namespace hecto::router::nat
