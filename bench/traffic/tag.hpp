// What the generator writes into its own packets to know them again. Pure functions, thread-safe.
//
//   UDP payload, 14 bytes:  magic 2 | stream 2 | sequence 4 | time 4 | balance 2
//   short form, 6 bytes:    sequence 3 | time 3
//
// The short form serves IPv6 frames that hold no UDP header beside it (below 80 bytes, 84 with a
// VLAN tag): next header 59, "no next header" (RFC 8200 §4.7), and magic and stream in the source
// address (bytes 8 to 11).
//
// Numbers lie in the machine's own byte order: who reads them has written them. Sequence numbers
// and times are the low bits of what is meant; Clock and SequenceWindow put the rest back.
// `balance` makes the sum of all that varies between packets 0 (RFC 1624's arithmetic), so that
// each stream has one UDP checksum for each size.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace hecto::bench {

static_assert(std::endian::native == std::endian::little, "the short form is cut from a number");

inline constexpr unsigned kTag_bytes = 14;
inline constexpr unsigned kShortTag_bytes = 6;
inline constexpr uint16_t kTagMagic = 0x4d48;
inline constexpr uint8_t kNoNextHeader = 59;

// Ones' complement sums folded to 16 bits. The upper half of a number added to itself with its
// halves exchanged is the sum of the halves, with the carry that comes round.
constexpr uint16_t fold(uint32_t sum) noexcept {
  return static_cast<uint16_t>((sum + std::rotl(sum, 16)) >> 16);
}
constexpr uint16_t fold(uint64_t sum) noexcept {
  sum = (sum & 0xffffffff) + (sum >> 32);
  return fold(static_cast<uint32_t>(sum + (sum >> 32)));
}

struct Tag {
  uint16_t stream = 0;
  uint32_t sequence = 0;
  uint32_t time = 0;
};

inline void write_magic(uint8_t* tag, uint16_t stream) noexcept {
  std::memcpy(tag, &kTagMagic, 2);
  std::memcpy(tag + 2, &stream, 2);
}
inline void write_sequence(uint8_t* tag, uint32_t sequence) noexcept {
  std::memcpy(tag + 4, &sequence, 4);
}
// `sum` is that of all else that varies in the packet. Two zeros follow, as behind every tag.
inline void write_time(uint8_t* tag, uint32_t time, uint32_t sum) noexcept {
  const auto balance = static_cast<uint16_t>(~fold(sum));
  const uint64_t both = time | uint64_t{balance} << 32;
  std::memcpy(tag + 8, &both, 8);
}
// False when it is none of ours.
inline bool read_tag(const uint8_t* bytes, Tag& tag) noexcept {
  uint16_t magic = 0;
  std::memcpy(&magic, bytes, 2);
  std::memcpy(&tag.stream, bytes + 2, 2);
  std::memcpy(&tag.sequence, bytes + 4, 4);
  std::memcpy(&tag.time, bytes + 8, 4);
  return magic == kTagMagic;
}

inline void write_short_tag(uint8_t* tag, uint32_t sequence, uint32_t time) noexcept {
  const uint64_t both = (sequence & 0xffffff) | (uint64_t{time} << 24);
  std::memcpy(tag, &both, kShortTag_bytes);
}
inline void read_short_tag(const uint8_t* bytes, Tag& tag) noexcept {
  uint64_t both = 0;
  std::memcpy(&both, bytes, kShortTag_bytes);
  tag.sequence = both & 0xffffff;
  tag.time = static_cast<uint32_t>(both >> 24);
}

// The time stamp counter in units of at most 12.5 ns; of 8 times that in the short form, so that it
// comes round after 0.8 s there, and after most of a minute in the long one.
class Clock {
 public:
  explicit Clock(uint64_t tsc_hz) noexcept
      : shift_(static_cast<unsigned>(std::bit_width(tsc_hz / 80'000'000 | 1) - 1)),
        ns_(1e9 * static_cast<double>(uint64_t{1} << shift_) / static_cast<double>(tsc_hz)) {}

  uint32_t time(uint64_t tsc) const noexcept { return static_cast<uint32_t>(tsc >> shift_); }
  uint32_t short_time(uint64_t tsc) const noexcept {
    return static_cast<uint32_t>(tsc >> (shift_ + 3)) & 0xffffff;
  }
  uint64_t elapsed_ns(uint64_t tsc, uint32_t sent) const noexcept {
    return scaled(static_cast<uint32_t>(time(tsc) - sent), ns_);
  }
  uint64_t short_elapsed_ns(uint64_t tsc, uint32_t sent) const noexcept {
    return scaled((short_time(tsc) - sent) & 0xffffff, 8 * ns_);
  }
  double unit_ns() const noexcept { return ns_; }

 private:
  static uint64_t scaled(uint32_t units, double ns) noexcept {
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(units) * ns));
  }
  unsigned shift_;
  double ns_;
};

}  // namespace hecto::bench
