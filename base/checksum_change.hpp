// What a checksum changes by when words under it are replaced (RFC 1624, equation 3), so that one that was
// wrong stays wrong: ~before + after of each word, summed. Words as load16_native and load32_native give
// them: the sum is the same in either order of bytes (RFC 1071 §2).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"
#include "base/checksum.hpp"

namespace hecto {

inline void store16_native(uint8_t* at, uint16_t value) noexcept {
  std::memcpy(at, &value, sizeof value);
}
inline void store32_native(uint8_t* at, uint32_t value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

namespace checksum_detail {

// Of a sum of a few words, without a branch, which would be hard to predict.
inline uint16_t folded(uint32_t sum) noexcept {
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum + (sum >> 16));
}

}  // namespace checksum_detail

// Deltas are folded. They add up, and of what goes back the delta is the complement.
inline uint16_t delta16(uint16_t before, uint16_t after) noexcept {
  return checksum_detail::folded(uint32_t{static_cast<uint16_t>(~before)} + after);
}
inline uint16_t delta32(uint32_t before, uint32_t after) noexcept {
  const uint32_t gone = ~before;
  return checksum_detail::folded((gone & 0xffff) + (gone >> 16) + (after & 0xffff) + (after >> 16));
}
inline uint16_t join_deltas(uint16_t a, uint16_t b) noexcept {
  return checksum_detail::folded(uint32_t{a} + b);
}
inline uint16_t reverse_delta(uint16_t delta) noexcept {
  return static_cast<uint16_t>(~delta);
}

inline uint16_t changed_checksum(uint16_t checksum, uint16_t delta) noexcept {
  uint32_t sum = uint32_t{static_cast<uint16_t>(~checksum)} + delta;
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}
inline void change_checksum(uint8_t* at, uint16_t delta) noexcept {
  store16_native(at, changed_checksum(load16_native(at), delta));
}
// RFC 768: 0 is none, and stays; one that becomes 0 is sent as all ones.
inline void change_udp_checksum(uint8_t* at, uint16_t delta) noexcept {
  const uint16_t before = load16_native(at);
  if (before == 0) return;
  const uint16_t after = changed_checksum(before, delta);
  store16_native(at, after == 0 ? uint16_t{0xffff} : after);
}

// The same of many words, which are replaced on the way; up to 64 KiB of them.
class ChecksumChange {
 public:
  // `bytes` is even, and `at` lies on a word of the sum.
  void replace(uint8_t* at, const uint8_t* with, unsigned bytes) noexcept {
    for (unsigned i = 0; i < bytes; i += 2)
      sum_ += static_cast<uint16_t>(~load16_native(at + i)) + uint32_t{load16_native(with + i)};
    std::memcpy(at, with, bytes);
  }
  void add(const ChecksumChange& other) noexcept { sum_ += other.sum_; }
  bool none() const noexcept { return sum_ == 0; }
  uint16_t delta() const noexcept { return fold_sum(sum_); }

 private:
  uint32_t sum_ = 0;
};

}  // namespace hecto
