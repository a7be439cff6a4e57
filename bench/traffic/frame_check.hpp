// Holds a packet that came back against the one that was sent: who knows its stream and sequence
// number knows every byte of it (frames.hpp), and what a router must have changed.
//
//   stream, sequence ─► cursor ─► record (addresses, ports, next hop), shape (size)
//   frame ─► matches: as expected in every byte ─► right
//                     else ─► judge: what is wrong first
//
// Pure functions over bytes, thread-safe; the frames that were sent must outlive the check. Traffic
// class and flow label may change on the way (RFC 2474, RFC 6437) and are not compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "bench/traffic/frames.hpp"
#include "bench/traffic/tag.hpp"
#include "bench/traffic/verdict.hpp"
#include "bench/traffic/window.hpp"

namespace hecto::bench {

// A frame as it came, long enough for the headers and the tag that its own bytes promise.
struct Arrived {
  const uint8_t* bytes = nullptr;
  uint32_t length = 0;   // of the whole frame
  uint32_t at_hand = 0;  // of them at `bytes`
  uint8_t l3 = 14;
  uint32_t where = 0;  // port and VLAN, see arrived_at
};
// `port` is a place in the generator's list; VLAN 0: untagged.
constexpr uint32_t arrived_at(uint16_t port, uint16_t vlan) noexcept {
  return port | uint32_t{vlan} << 16;
}

// What a stream's packets come back with, where it is known.
struct Arrival {
  uint16_t from = 0, to = 0;  // ports, by their places
  uint8_t hops = 1;           // that TTL is counted down by
  std::optional<MacAddress> mac;
  NextHopMac mac_of;  // by destination, before `mac`
  uint16_t vlan = 0;
};
Arrival expected_arrival(const StreamSpec& stream, const MacPair& sent,
                         const std::optional<MacAddress>& station);

class FrameCheck {
 public:
  FrameCheck(const StreamFrames& frames, const Arrival& expected);

  size_t records() const noexcept { return records_; }
  size_t places() const noexcept { return pattern_.size(); }

  // True: right. False: perhaps not; traffic class, flow label, and frames that were filled up are
  // left to `judge`, which says what it is.
  template <bool kIpv6, bool kShort>
  bool matches(const Arrived& arrived, size_t record, size_t place) const noexcept;
  template <bool kIpv6, bool kShort>
  Verdict judge(const Arrived& arrived, size_t record, size_t place) const noexcept;
  // Whether it is that packet, whatever has happened to it: addresses, ports and tag agree.
  template <bool kIpv6, bool kShort>
  bool is_packet(const uint8_t* ip, size_t record) const noexcept;

 private:
  struct Shape {
    uint64_t head = 0;  // the IP header's first 8 bytes
    uint32_t udp = 0;   // length and checksum
    uint16_t ttl_protocol = 0;
    uint16_t ipv4_sum = 0;  // of the header without addresses
    uint16_t ip_bytes = 0;  // the whole packet
    uint16_t zeros = 0;     // bytes behind the tag
    bool short_tag = false;
  };
  struct Mac {
    uint64_t bits = 0, mask = 0;  // the low 48
  };
  static constexpr uint64_t kHead4 = ~uint64_t{0xff00};      // without traffic class
  static constexpr uint64_t kHead6 = ~uint64_t{0xffffff0f};  // and flow label

  template <bool kIpv6, bool kShort>
  static constexpr unsigned tag_offset() {  // in the IP packet
    return (kIpv6 ? kIpv6Bytes : kIpv4Bytes) + (kShort ? 0 : 8);
  }
  // 0 where the frame is for whom it should be, or that is not known.
  uint64_t other_mac(const uint8_t* frame, size_t record) const noexcept {
    const Mac& mac = macs_[next_hops_.empty() ? 0 : next_hops_[record]];
    return (load64_native(frame) ^ mac.bits) & mac.mask;
  }

  std::vector<Shape> shapes_;
  std::vector<uint16_t> pattern_;
  const Ipv4Record* records4_ = nullptr;
  const Ipv6Record* records6_ = nullptr;
  size_t records_ = 0;
  uint64_t source6_ = 0;        // the first 8 bytes of the source
  uint32_t source6_magic_ = 0;  // the next 4
  std::vector<Mac> macs_;
  std::vector<uint16_t> next_hops_;  // by record, places in macs_; empty: all the first one
  uint32_t where_;                   // where packets should come
  uint16_t from_;
  uint8_t hops_;
};

// Not zero where a byte is not: few bytes by words that overlap, many each against the one 8 further.
inline uint64_t any_of(const uint8_t* bytes, size_t count) noexcept {
  if (count > 16)
    return load64_native(bytes) | uint64_t{std::memcmp(bytes, bytes + 8, count - 8) != 0};
  if (count >= 8) return load64_native(bytes) | load64_native(bytes + count - 8);
  if (count >= 4) return load32_native(bytes) | load32_native(bytes + count - 4);
  uint64_t any = 0;
  for (size_t i = 0; i < count; ++i) any |= bytes[i];
  return any;
}

// Ones' complement sums of words that are not all 0, which a right one folds to 0xffff.
// That is divisible by 0xffff, asked for by its inverse: compilers divide where they take code for
// cold.
constexpr bool folds_to_ones(uint64_t sum) noexcept {
  constexpr uint64_t kInverse = 0xfffefffefffeffff;
  static_assert(kInverse * 0xffff == 1);
  return sum * kInverse <= UINT64_MAX / 0xffff;
}

// Addresses and ports as they were sent, and a tag whose balance holds.
template <bool kIpv6, bool kShort>
[[gnu::always_inline]] inline bool FrameCheck::is_packet(const uint8_t* ip,
                                                         size_t record) const noexcept {
  uint64_t sum = 0;
  if constexpr (kIpv6) {
    const Ipv6Record& sent = records6_[record];
    if (load64_native(ip + 8) != source6_ || load32_native(ip + 16) != source6_magic_ ||
        load32_native(ip + 20) != sent.source_low ||
        load64_native(ip + 24) != load64_native(sent.destination) ||
        load64_native(ip + 32) != load64_native(sent.destination + 8)) [[unlikely]]
      return false;
    if constexpr (kShort) return true;
    if (load32_native(ip + 40) != sent.ports) [[unlikely]]
      return false;
    sum = sent.varying;
  } else {
    const Ipv4Record& sent = records4_[record];
    if (load32_native(ip + 12) != sent.source || load32_native(ip + 16) != sent.destination ||
        load32_native(ip + 20) != sent.ports) [[unlikely]]
      return false;
    sum = sent.varying;
  }
  const uint8_t* tag = ip + tag_offset<kIpv6, kShort>();
  sum += uint64_t{load32_native(tag + 4)} + load32_native(tag + 8) + load16_native(tag + 12);
  return folds_to_ones(sum);
}

// One by one, what is mostly right goes straight through: or-ing the differences takes half as many
// instructions again, for spills.
template <bool kIpv6, bool kShort>
[[gnu::always_inline]] inline bool FrameCheck::matches(const Arrived& arrived, size_t record,
                                                       size_t place) const noexcept {
  const Shape& shape = shapes_[pattern_[place]];
  const uint8_t* ip = arrived.bytes + arrived.l3;
  if (load64_native(ip) != shape.head || arrived.where != where_ || kShort != shape.short_tag ||
      arrived.length != uint32_t{arrived.l3} + shape.ip_bytes || arrived.at_hand != arrived.length)
      [[unlikely]]
    return false;
  if constexpr (!kIpv6)
    if (load16_native(ip + 8) != shape.ttl_protocol ||
        !folds_to_ones(uint64_t{shape.ipv4_sum} + records4_[record].header_sum +
                       load16_native(ip + 10))) [[unlikely]]
      return false;
  constexpr unsigned kTag = tag_offset<kIpv6, kShort>();
  if constexpr (!kShort)
    if (load32_native(ip + kTag - 4) != shape.udp) [[unlikely]]
      return false;
  if (!is_packet<kIpv6, kShort>(ip, record) || other_mac(arrived.bytes, record) != 0) [[unlikely]]
    return false;
  return any_of(ip + kTag + (kShort ? kShortTag_bytes : kTag_bytes), shape.zeros) == 0;
}

// Which record and shape a sequence number of a stream has.
class PacketCursor {
 public:
  struct Place {
    size_t record = 0, place = 0;
  };
  PacketCursor() = default;
  // `first` has the first record and shape.
  PacketCursor(uint64_t first, size_t records, size_t places) noexcept
      : first_(first), next_(first), records_(records), places_(places) {}

  // The whole number behind its lowest `bits` bits, taken to lie near the last one.
  uint64_t expand(uint32_t low, unsigned bits) const noexcept {
    return expand_near(next_, low, bits);
  }
  Place find(uint64_t sequence) const noexcept {
    if (sequence == next_) [[likely]]
      return {record_, place_};
    return {(sequence - first_) % records_, (sequence - first_) % places_};
  }
  // `sequence` is next, whatever came before: numbers that did not come back may be more than the
  // low bits can tell.
  void restart(uint64_t sequence) noexcept {
    next_ = sequence;
    record_ = (sequence - first_) % records_;
    place_ = (sequence - first_) % places_;
  }
  // It was this one, and stands there.
  void pass(uint64_t sequence, Place place) noexcept {
    next_ = sequence + 1;
    record_ = place.record + 1 == records_ ? 0 : place.record + 1;
    place_ = place.place + 1 == places_ ? 0 : place.place + 1;
  }

 private:
  uint64_t first_ = 0, next_ = 0;
  // Apart: the two in one load would have to wait for both stores of the packet before.
  size_t record_ = 0, records_ = 1, place_ = 0, places_ = 1;
};

}  // namespace hecto::bench
