#include "router/dataplane/observe/pcapng.hpp"

#include <cstring>

namespace hecto::router {
namespace {

constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kInterfaceStatistics = 5;
constexpr uint32_t kEnhancedPacket = 6;

constexpr uint16_t kEndOfOptions = 0, kComment = 1;
constexpr uint16_t kApplication = 4;                                // of a section
constexpr uint16_t kName = 2, kDescription = 3, kResolution = 9;    // of an interface
constexpr uint16_t kFlags = 2, kDropCount = 4, kQueue = 6;          // of a packet
constexpr uint16_t kStart = 2, kEnd = 3, kReceived = 4, kLost = 5;  // of statistics
constexpr uint16_t kAccepted = 6, kDelivered = 8;

}  // namespace

template <typename Number>
void PcapngWriter::put(Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out_.append(bytes, sizeof number);
}

// Blocks begin at multiples of four.
void PcapngWriter::pad() {
  out_.append((4 - out_.size() % 4) % 4, '\0');
}

size_t PcapngWriter::begin(uint32_t type) {
  const size_t start = out_.size();
  put(type);
  put(uint32_t{0});  // end() knows
  return start;
}

void PcapngWriter::end(size_t start) {
  const auto length = static_cast<uint32_t>(out_.size() - start + 4);
  put(length);
  std::memcpy(out_.data() + start + 4, &length, sizeof length);
}

void PcapngWriter::option(uint16_t code, std::string_view value) {
  put(code);
  put(static_cast<uint16_t>(value.size()));
  out_.append(value);
  pad();
}

template <typename Number>
void PcapngWriter::option_number(uint16_t code, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  option(code, {bytes, sizeof number});
}

void PcapngWriter::put_time(uint64_t time_ns) {
  put(static_cast<uint32_t>(time_ns >> 32));
  put(static_cast<uint32_t>(time_ns));
}

void PcapngWriter::option_time(uint16_t code, uint64_t time_ns) {
  put(code);
  put(uint16_t{8});
  put_time(time_ns);
}

void PcapngWriter::section(std::string_view application) {
  const size_t start = begin(kSectionHeader);
  put(uint32_t{0x1a2b3c4d});
  put(uint16_t{1});  // version 1.0
  put(uint16_t{0});
  put(~uint64_t{0});  // its length is not known
  option(kApplication, application);
  option(kEndOfOptions, {});
  end(start);
}

uint32_t PcapngWriter::interface(std::string_view name, std::string_view description, LinkType type,
                                 uint32_t snaplen) {
  const size_t start = begin(kInterfaceDescription);
  put(static_cast<uint16_t>(type));
  put(uint16_t{0});
  put(snaplen);
  option(kName, name);
  option(kDescription, description);
  option_number(kResolution, uint8_t{9});  // 10^-9 s
  option(kEndOfOptions, {});
  end(start);
  return interfaces_++;
}

void PcapngWriter::packet(const PcapngPacket& packet) {
  const size_t start = begin(kEnhancedPacket);
  put(packet.interface);
  put_time(packet.time_ns);
  put(static_cast<uint32_t>(packet.bytes.size()));
  put(packet.length);
  out_.append(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size());
  pad();
  if (packet.direction != PacketDirection::kUnknown)
    option_number(kFlags, static_cast<uint32_t>(packet.direction));
  if (packet.lost > 0) option_number(kDropCount, packet.lost);
  if (packet.queue) option_number(kQueue, *packet.queue);
  if (!packet.comment.empty()) option(kComment, packet.comment);
  option(kEndOfOptions, {});
  end(start);
}

void PcapngWriter::statistics(uint32_t interface, const PcapngStatistics& s) {
  const size_t start = begin(kInterfaceStatistics);
  put(interface);
  put_time(s.end_ns);
  option_time(kStart, s.start_ns);
  option_time(kEnd, s.end_ns);
  option_number(kReceived, s.accepted);
  option_number(kLost, s.lost);
  option_number(kAccepted, s.accepted);
  option_number(kDelivered, s.delivered);
  option(kEndOfOptions, {});
  end(start);
}

}  // namespace hecto::router
