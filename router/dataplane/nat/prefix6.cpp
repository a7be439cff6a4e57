#include "router/dataplane/nat/prefix6.hpp"

#include "base/checksum_change.hpp"

namespace hecto::router::nat {
namespace {

constexpr uint8_t kIcmp6 = 58;
constexpr uint32_t kIpv6Header = 40, kIcmp6Header = 8;

uint64_t first_half(const lookup::IpPrefix& prefix) noexcept {
  return load64_native(prefix.address.bytes.data());
}

uint16_t sum_of(uint64_t words) noexcept {
  return fold_sum((words & 0xffff) + (words >> 16 & 0xffff) + (words >> 32 & 0xffff) +
                  (words >> 48));
}

}  // namespace

Prefix6::Prefix6(const lookup::IpPrefix& inside, const lookup::IpPrefix& outside) noexcept
    : inside_(first_half(inside)), outside_(first_half(outside)) {
  const unsigned length = inside.length;
  mask_ = length == 0 ? 0 : __builtin_bswap64(~uint64_t{0} << (64 - length));
  inside_ &= mask_;
  outside_ &= mask_;
  adjust_ = fold_sum(uint32_t{static_cast<uint16_t>(~sum_of(outside_))} + sum_of(inside_));
  in_subnet_ = length <= 48;
}

bool Prefix6::matches(uint64_t prefix, const uint8_t* address) const noexcept {
  return (load64_native(address) & mask_) == prefix;
}

bool Prefix6::replace(uint8_t* address, uint64_t prefix, uint16_t adjust) const noexcept {
  uint8_t* word = address + 6;
  if (in_subnet_) {
    if (load16_native(word) == 0xffff) return false;
  } else {
    for (word = address + 8; load16_native(word) == 0xffff; word += 2)
      if (word == address + 14) return false;
  }
  const uint64_t half = (load64_native(address) & ~mask_) | prefix;
  std::memcpy(address, &half, sizeof half);
  uint16_t value = fold_sum(uint32_t{load16_native(word)} + adjust);
  if (value == 0xffff) value = 0;  // §3.4: never that one, so that the way back is the same
  store16_native(word, value);
  return true;
}

uint8_t* find_embedded6(uint8_t* ip, uint32_t bytes) noexcept {
  if (bytes < kIpv6Header + kIcmp6Header + kIpv6Header || ip[6] != kIcmp6) return nullptr;
  const uint8_t type = ip[kIpv6Header];
  uint8_t* const inner = ip + kIpv6Header + kIcmp6Header;
  return type >= 1 && type <= 4 && inner[0] >> 4 == 6 ? inner : nullptr;
}

}  // namespace hecto::router::nat
