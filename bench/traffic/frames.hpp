// A stream made ready to be sent: for each size a frame with all that does not change, for each
// packet the addresses it gets, in tables, so that sending is copying and a few stores.
//
// Packet n of a stream has source n mod flows and destination n mod destinations, until the larger
// number of them has been gone through, and the n-th of the stream's pattern of sizes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/traffic/pcap.hpp"
#include "bench/traffic/spec.hpp"
#include "bench/traffic/tag.hpp"

namespace hecto::bench {

// Where things lie in the frames of a stream.
struct FrameLayout {
  FrameLayout(lookup::Family family, bool vlan, bool short_tag);
  static bool needs_short_tag(const StreamSpec& stream, uint16_t frame_bytes);
  uint8_t l3 = 14;
  uint8_t tag = 0;
};

struct FrameShape {
  uint16_t length = 0;       // in an mbuf: without FCS
  uint16_t copied = 0;       // of `bytes`, 64 or 128
  uint16_t ipv4_sum = 0;     // of the IPv4 header without addresses
  uint16_t frame_bytes = 0;  // with FCS
  bool short_tag = false;
  uint8_t tag = 0;  // offset
};

struct FrameTemplate : FrameShape {
  // Whole cache lines are copied; behind the tag there are zeros.
  alignas(64) std::array<uint8_t, 128> bytes{};
};

// What varies with flow and destination. Addresses as on the wire.
struct Ipv4Record {
  uint32_t source, destination;
  uint32_t ports;
  uint16_t header_sum;  // addresses
  uint16_t varying;     // addresses and ports, for the balance
};
static_assert(sizeof(Ipv4Record) == 16);
struct Ipv6Record {
  uint8_t destination[16];
  uint32_t source_low;
  uint32_t ports;
  uint16_t varying;
  uint16_t unused[3];
};
static_assert(sizeof(Ipv6Record) == 32);

struct MacPair {
  MacAddress destination{}, source{};
};

struct StreamFrames {
  // Neither errors nor surprises: `spec` has been checked. `number` stands in the tags.
  StreamFrames(const StreamSpec& spec, uint16_t number, const lookup::IpAddress& source,
               const MacPair& macs);
  // Of a replay.
  StreamFrames(const StreamSpec& spec, uint16_t number, Capture capture, const MacPair& macs);

  uint16_t number = 0;
  bool ipv6 = false;
  uint8_t l3 = 14;
  std::vector<FrameTemplate> templates;
  std::vector<uint16_t> pattern;  // places in `templates`
  std::vector<Ipv4Record> records4;
  std::vector<Ipv6Record> records6;
  size_t records = 0;
  Capture capture;  // of a replay
  bool replayed() const { return !capture.frames.empty(); }
  double mean_frame_bytes() const;
  uint16_t longest_frame_bytes() const;

 private:
  void add_template(const StreamSpec& spec, uint16_t frame_bytes, const lookup::IpAddress& source,
                    const MacPair& macs);
  void add_records(const StreamSpec& spec, const lookup::IpAddress& source);
};

// Places of `weights`, each as often as it weighs, spread as evenly as they can be.
std::vector<uint16_t> spread(const std::vector<uint32_t>& weights);

inline constexpr uint8_t kUdp = 17;          // the IP protocol
inline constexpr uint16_t kUdpPort = 49152;  // the first flow's source port
inline constexpr uint16_t kDiscardPort = 9;  // destination port (RFC 863)
inline constexpr uint8_t kHopLimit = 64;

// Writes one packet of a template's shape and bytes into a buffer. Its tag is still missing:
// write_sequence and write_time, or write_short_tag. Returns the sum of what varies in it so far.
inline uint32_t write_frame4(uint8_t* frame, FrameShape shape, const uint8_t* bytes, uint8_t l3,
                             const Ipv4Record& record) noexcept {
  std::memcpy(frame, bytes, 64);
  if (shape.copied > 64) std::memcpy(frame + 64, bytes + 64, 64);
  uint8_t* ip = frame + l3;
  std::memcpy(ip + 12, &record, 12);
  const auto checksum = static_cast<uint16_t>(~fold(uint32_t{shape.ipv4_sum} + record.header_sum));
  std::memcpy(ip + 10, &checksum, 2);
  return record.varying;
}

inline uint32_t write_frame6(uint8_t* frame, FrameShape shape, const uint8_t* bytes, uint8_t l3,
                             const Ipv6Record& record) noexcept {
  std::memcpy(frame, bytes, 64);
  if (shape.copied > 64) std::memcpy(frame + 64, bytes + 64, 64);
  uint8_t* ip = frame + l3;
  std::memcpy(ip + 20, &record.source_low, 4);
  std::memcpy(ip + 24, record.destination, 16);
  if (!shape.short_tag) std::memcpy(ip + 40, &record.ports, 4);
  return record.varying;
}

}  // namespace hecto::bench
