// The header checks over a group of packets, for the kernels' files alone: all here has internal
// linkage, so that no file is given what another one's instructions were used for.
//
// `Isa` brings kLanes, Words (as many 32-bit lanes) and what compilers have no common word for:
//   Halves                        the same bits as pairs of 16-bit lanes
//   repeat(row)                   the same 16 bytes in each quad of lanes
//   rows(frames, j, offset)       quad q of lanes: 16 bytes of frame 4q + j at offset
//   low32, high32, low64, high64  of two rows, within each quad: the unpack instructions
//   swap_bytes(words)             network to host order
//   any(words)                    whether some bit is set
// Four rows become four columns: lane i of a column is a word of frame i.
#pragma once

#include <string.h>

#include "lookup/fetch_ahead.hpp"
#include "router/dataplane/stages/header_job.hpp"

namespace hecto::router {
namespace {

using Row = uint32_t __attribute__((vector_size(16)));

constexpr unsigned kFrameBytes4 = 14 + 20, kFrameBytes6 = 14 + 40;
// EtherType, version and header length, as in classify.hpp.
constexpr uint32_t kWord4 = 0x450008, kWord4Mask = 0xffffff;
constexpr uint32_t kWord6 = 0x60dd86, kWord6Mask = 0xf0ffff;

template <typename T>
T load(const void* at) noexcept {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <typename Isa>
class HeaderGroups {
 public:
  static void run(HeaderJob& job) noexcept { HeaderGroups(job).run(); }

 private:
  static constexpr unsigned kLanes = Isa::kLanes;
  using Words = typename Isa::Words;
  using Halves = typename Isa::Halves;
  using Frames = const uint8_t* [kLanes];
  struct Columns {
    Words at[4];
  };
  // A group's mbufs, read.
  struct Fetched {
    const void* const* packets;
    Frames frames;
    uint32_t bytes[kLanes];  // of the first segment
    uint32_t all_bytes;      // their sum
    uint32_t segments;       // of all, or-ed
  };
  struct Head {
    Words wrong_macs;  // not 0: not to us, or from us
    Columns at12;      // EtherType to half the source address
    Words from4, to4;  // IPv4's addresses
  };
  struct Checked {
    Words refused;  // not 0: not fit
    Words total;    // L3 bytes
  };
  struct Checked4 : Checked {
    Words destinations;
  };

  explicit HeaderGroups(HeaderJob& job) noexcept : job_(job) {
    const auto head = static_cast<uint32_t>(job.mac);
    const auto tail = static_cast<uint32_t>(job.mac >> 32);
    to_ = Isa::repeat(Row{head, tail, 0, 0});
    from_ = Isa::repeat(Row{0, 0, job.own_tail, 0});
  }

  void run() noexcept {
    Fetched groups[2];
    unsigned turn = 0;
    if (job_.count - job_.next < kLanes) return;
    fetch(job_.next, groups[0]);
    for (;; turn ^= 1) {
      const bool more = job_.count - job_.next >= 2 * kLanes;
      if (more) fetch(job_.next + kLanes, groups[turn ^ 1]);
      if (!take(groups[turn])) return;
      job_.next += kLanes;
      if (!more) return;
    }
  }

  void fetch(unsigned first, Fetched& group) noexcept {
    group.packets = job_.packets + first;
    uint32_t segments = 0, all_bytes = 0;
    for (unsigned j = 0; j < kLanes; ++j) {
      const auto* const packet = static_cast<const uint8_t*>(group.packets[j]);
      const uint8_t* const frame =
          load<const uint8_t*>(packet + kMbufBuffer) + load<uint16_t>(packet + kMbufOffset);
      __builtin_prefetch(frame);
      group.frames[j] = frame;
      const uint32_t bytes = load<uint16_t>(packet + kMbufBytes);
      group.bytes[j] = bytes;
      all_bytes += bytes;
      segments |= load<uint32_t>(packet + kMbufSegments);
    }
    group.all_bytes = all_bytes;
    group.segments = segments & 0xffff;
  }

  static Columns columns(const Words (&rows)[4]) noexcept {
    const Words ab = Isa::low32(rows[0], rows[1]), cd = Isa::low32(rows[2], rows[3]);
    const Words ab_high = Isa::high32(rows[0], rows[1]), cd_high = Isa::high32(rows[2], rows[3]);
    return {{Isa::low64(ab, cd), Isa::high64(ab, cd), Isa::low64(ab_high, cd_high),
             Isa::high64(ab_high, cd_high)}};
  }
  static Columns columns(const Frames& frames, unsigned offset) noexcept {
    Words rows[4];
    for (unsigned j = 0; j < 4; ++j) rows[j] = Isa::rows(frames, j, offset);
    return columns(rows);
  }
  // All that is read of each frame at once: no more of their addresses than there are registers.
  Head head(const Frames& frames) const noexcept {
    // To our MAC, and not from it, by the last four bytes.
    const Words to_mask = Isa::repeat(Row{~0u, 0xffff, 0, 0});
    const Words from_mask = Isa::repeat(Row{0, 0, ~0u, 0});
    Head out{};
    Words at12[4], at18[4];
    for (unsigned j = 0; j < 4; ++j) {
      const Words macs = Isa::rows(frames, j, 0);
      at12[j] = Isa::rows(frames, j, 12);
      at18[j] = Isa::rows(frames, j, 18);
      out.wrong_macs |= ((macs ^ to_) & to_mask) | (where(macs == from_) & from_mask);
    }
    out.at12 = columns(at12);
    const Words ab = Isa::high32(at18[0], at18[1]), cd = Isa::high32(at18[2], at18[3]);
    out.from4 = Isa::low64(ab, cd);
    out.to4 = Isa::high64(ab, cd);
    return out;
  }
  // Lanes of ones where `a` is below `b`; both below 2^31.
  static Words below(Words a, Words b) noexcept { return Words{} - ((a - b) >> 31); }
  static Words where(auto comparison) noexcept { return reinterpret_cast<Words>(comparison); }
  static Words swapped16(Words low_half) noexcept {
    return (low_half & 0xff) << 8 | (low_half >> 8 & 0xff);
  }
  static Words halves(Words words) noexcept { return (words & 0xffff) + (words >> 16); }

  // By the first bytes of both addresses, what kSpecial4 and kSpecial6 of classify.hpp have: ones in
  // some bits of the lane. A byte of 0 becomes the largest.
  static Halves first_bytes(Words from, Words to) noexcept {
    return reinterpret_cast<Halves>((from & 0xff) | (to & 0xff) << 16);
  }
  static Words special4(Words from, Words to) noexcept {
    const Halves first = first_bytes(from, to);
    return where((first == 127) | (first == 169) | (first - 1 >= 224 - 1));
  }
  static Words special6(Words from, Words to) noexcept {
    return where(first_bytes(from, to) - 1 >= 0xfe - 1);
  }

  static Checked4 check4(const Head& head, Words available) noexcept {
    const Columns& at12 = head.at12;
    Checked4 out;
    out.total = swapped16(at12.at[1]);
    const Words sum = (at12.at[0] >> 16) + halves(at12.at[1]) + halves(at12.at[2]) +
                      (at12.at[3] & 0xffff) + halves(head.from4) + halves(head.to4);
    out.refused = (halves(sum) ^ 0xffff) | below(available, out.total) |
                  below(out.total, Words{} + 20) | where(head.from4 == head.to4) |
                  special4(head.from4, head.to4);
    out.destinations = Isa::swap_bytes(head.to4);
    return out;
  }

  static Checked check6(const Frames& frames, const Columns& at12, Words available) noexcept {
    const Columns source = columns(frames, 22), destination = columns(frames, 38);
    Checked out;
    out.total = swapped16(at12.at[1] >> 16) + 40;
    const Words differ = (source.at[0] ^ destination.at[0]) | (source.at[1] ^ destination.at[1]) |
                         (source.at[2] ^ destination.at[2]) | (source.at[3] ^ destination.at[3]);
    const Words next_header = at12.at[2] & 0xff;
    out.refused = below(available, out.total) | where(next_header == 0) | where(differ == 0) |
                  special6(source.at[0], destination.at[0]);
    return out;
  }

  // Whether the group is in the lanes now.
  bool take(const Fetched& group) noexcept {
    const auto bytes = load<Words>(group.bytes);
    if (group.segments != 1 || Isa::any(below(bytes, Words{} + kFrameBytes4))) return false;
    const Words available = bytes - 14;
    const Head head = this->head(group.frames);
    __asm__ volatile("" : : : "memory");  // the frames' addresses are read again, not kept
    const Words not4 = (head.at12.at[0] & kWord4Mask) ^ kWord4;
    if (!Isa::any(not4)) {
      const Checked4 checked = check4(head, available);
      if (Isa::any(head.wrong_macs | checked.refused)) return false;
      append(job_.v4, group);
      auto* const destinations = static_cast<uint32_t*>(job_.v4.destinations) + job_.v4.count;
      store(destinations, checked.destinations);
      if (job_.fib4 != nullptr)
        for (unsigned j = 0; j < kLanes; ++j) lookup::fetch_ahead(job_.fib4, destinations[j]);
      job_.v4.count += kLanes;
      trim(group, available, checked.total);
      return true;
    }
    if (Isa::any(head.wrong_macs)) return false;
    const Words not6 = (head.at12.at[0] & kWord6Mask) ^ kWord6;
    return Isa::any(not6) ? take_mixed(group, head, where(not4 == 0), where(not6 == 0))
                          : take6(group, head.at12);
  }

  bool take6(const Fetched& group, const Columns& at12) noexcept {
    const auto bytes = load<Words>(group.bytes);
    if (Isa::any(below(bytes, Words{} + kFrameBytes6))) return false;
    const Words available = bytes - 14;
    const Checked checked = check6(group.frames, at12, available);
    if (Isa::any(checked.refused)) return false;
    append(job_.v6, group);
    auto* const destinations = static_cast<Row*>(job_.v6.destinations) + job_.v6.count;
    for (unsigned j = 0; j < kLanes; ++j)
      memcpy(&destinations[j], group.frames[j] + 38, sizeof(Row));
    job_.v6.count += kLanes;
    trim(group, available, checked.total);
    return true;
  }

  // The checks of IPv6 read more: a lane of IPv4 gets the first frame of IPv6 instead.
  __attribute__((noinline)) bool take_mixed(const Fetched& group, const Head& head, Words is4,
                                            Words is6) noexcept {
    const auto bytes = load<Words>(group.bytes);
    if (Isa::any(~(is4 | is6) | (is6 & below(bytes, Words{} + kFrameBytes6)))) return false;
    uint32_t six[kLanes];
    memcpy(six, &is6, sizeof six);
    unsigned first = 0;
    while (six[first] == 0) ++first;
    Frames frames6;
    for (unsigned j = 0; j < kLanes; ++j) frames6[j] = group.frames[six[j] != 0 ? j : first];
    const Words available = bytes - 14;
    const Checked4 checked4 = check4(head, available);
    const Checked checked6 = check6(frames6, head.at12, available);
    if (Isa::any((is4 & checked4.refused) | (is6 & checked6.refused))) return false;
    uint32_t destinations4[kLanes];
    store(destinations4, checked4.destinations);
    for (unsigned j = 0; j < kLanes; ++j) {
      HeaderLane& lane = six[j] != 0 ? job_.v6 : job_.v4;
      memcpy(static_cast<const void**>(lane.packets) + lane.count, &group.packets[j],
             sizeof(void*));
      memcpy(static_cast<uint32_t*>(lane.ingress) + lane.count, &job_.ingress, sizeof job_.ingress);
      if (six[j] != 0)
        memcpy(static_cast<Row*>(lane.destinations) + lane.count, group.frames[j] + 38,
               sizeof(Row));
      else
        static_cast<uint32_t*>(lane.destinations)[lane.count] = destinations4[j];
      ++lane.count;
    }
    trim(group, available, (is4 & checked4.total) | (is6 & checked6.total));
    return true;
  }

  static void store(void* at, Words words) noexcept { memcpy(at, &words, sizeof words); }

  // What lanes of both families have; the rest, and the count, are the caller's.
  void append(HeaderLane& lane, const Fetched& group) noexcept {
    memcpy(static_cast<const void**>(lane.packets) + lane.count, group.packets,
           kLanes * sizeof(void*));
    store(static_cast<uint32_t*>(lane.ingress) + lane.count, Words{} + job_.ingress);
  }

  // Padding goes: of all or of none, for a branch a packet would be hard to predict.
  void trim(const Fetched& group, Words available, Words total) noexcept {
    job_.bytes += group.all_bytes;
    if (!Isa::any(available ^ total)) return;
    uint32_t frame_bytes[kLanes];
    const Words whole = total + 14;
    memcpy(frame_bytes, &whole, sizeof frame_bytes);
    for (unsigned j = 0; j < kLanes; ++j) {
      auto* const packet = static_cast<uint8_t*>(const_cast<void*>(group.packets[j]));
      const auto short_bytes = static_cast<uint16_t>(frame_bytes[j]);
      memcpy(packet + kMbufPacketBytes, &frame_bytes[j], sizeof frame_bytes[j]);
      memcpy(packet + kMbufBytes, &short_bytes, sizeof short_bytes);
    }
  }

  HeaderJob& job_;
  Words to_, from_;
};

}  // namespace
}  // namespace hecto::router
