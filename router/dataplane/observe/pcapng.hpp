// Blocks of a pcapng file, one after the other.
//
// Source: draft-ietf-opsawg-pcapng (§4.1 section header, §4.2 interface description, §4.3 enhanced
// packet, §4.6 interface statistics). Numbers are in this machine's byte order, which the section's
// magic tells. Timestamps are nanoseconds since 1970, UTC. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hecto::router {

enum class LinkType : uint16_t { kEthernet = 1, kRawIp = 101 };  // tcpdump.org/linktypes.html

enum class PacketDirection : uint8_t { kUnknown, kInbound, kOutbound };  // of epb_flags

struct PcapngPacket {
  uint32_t interface = 0;  // as PcapngWriter::interface() gave it
  uint64_t time_ns = 0;
  std::span<const std::byte> bytes;
  uint32_t length = 0;  // of the whole packet
  PacketDirection direction = PacketDirection::kUnknown;
  uint64_t lost = 0;              // packets of its interface between the one before and this
  std::optional<uint32_t> queue;  // of the interface
  std::string_view comment;       // empty: none
};

struct PcapngStatistics {
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t accepted = 0;   // by the filter
  uint64_t lost = 0;       // of those, for want of room
  uint64_t delivered = 0;  // of those, in the file
};

class PcapngWriter {
 public:
  void section(std::string_view application);
  // Interfaces are numbered from 0 in the order of these calls.
  uint32_t interface(std::string_view name, std::string_view description, LinkType type,
                     uint32_t snaplen);
  void packet(const PcapngPacket& packet);
  void statistics(uint32_t interface, const PcapngStatistics& statistics);

  size_t size() const { return out_.size(); }
  // What was written since the last call.
  std::string take() { return std::exchange(out_, {}); }

 private:
  template <typename Number>
  void put(Number number);
  void pad();
  size_t begin(uint32_t type);
  void end(size_t start);
  void option(uint16_t code, std::string_view value);
  template <typename Number>
  void option_number(uint16_t code, Number number);
  void option_time(uint16_t code, uint64_t time_ns);
  void put_time(uint64_t time_ns);

  std::string out_;
  uint32_t interfaces_ = 0;
};

}  // namespace hecto::router
