#include "bench/traffic/pcap.hpp"

#include <fmt/format.h>

#include <cstring>

#include "router/rib/route_file.hpp"

namespace hecto::bench {
namespace {

constexpr uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kNanoseconds = 0xa1b23c4d;
constexpr uint32_t kPcapng = 0x0a0d0d0a;  // the same in either byte order
constexpr uint32_t kEthernet = 1;         // LINKTYPE_ETHERNET
constexpr size_t kHeader_bytes = 24;
constexpr size_t kRecord_bytes = 16;
constexpr uint32_t kLongestFrame_bytes = 65535;
constexpr uint32_t kShortestFrame_bytes = 14;

uint32_t load32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

bool is_classic(uint32_t magic) {
  return magic == kMicroseconds || magic == kNanoseconds;
}

}  // namespace

bool is_capture(std::string_view bytes) noexcept {
  if (bytes.size() < 4) return false;
  const uint32_t magic = load32(bytes, 0);
  return is_classic(magic) || is_classic(__builtin_bswap32(magic)) || magic == kPcapng;
}

Result<Capture> parse_capture(std::string_view bytes, const std::string& label,
                              const CaptureLimits& limits) {
  const auto refuse = [&](const std::string& text) {
    return fail(fmt::format("{}: {}", label, text), EINVAL);
  };
  if (!is_capture(bytes))
    return refuse("not a capture; use a file of `tcpdump -w` or another in the pcap format");
  const uint32_t magic = load32(bytes, 0);
  if (magic == kPcapng)
    return refuse(
        "a pcapng file; write it anew with `tcpdump -r FILE -w NEW` or `editcap -F pcap`");
  const bool swapped = !is_classic(magic);
  const auto number = [&](size_t at) {
    const uint32_t value = load32(bytes, at);
    return swapped ? __builtin_bswap32(value) : value;
  };
  if (bytes.size() < kHeader_bytes)
    return refuse(fmt::format("cut short in its header: {} bytes of {}; capture it anew",
                              bytes.size(), kHeader_bytes));
  // The upper bits may tell the length of an FCS.
  if (const uint32_t type = number(20) & 0xffff; type != kEthernet)
    return refuse(fmt::format("link type {}; use a capture of an Ethernet interface (1)", type));

  Capture capture;
  size_t at = kHeader_bytes;
  while (at < bytes.size()) {
    const size_t index = capture.frames.size() + 1;
    const size_t left = bytes.size() - at;
    const uint32_t length = left < kRecord_bytes ? 0 : number(at + 8);
    const uint32_t on_wire = left < kRecord_bytes ? 0 : number(at + 12);
    if (length > kLongestFrame_bytes || on_wire > kLongestFrame_bytes)
      return refuse(
          fmt::format("byte {}: frame {} has {} bytes, of which {} were kept; at most {} "
                      "are possible, so the file is damaged",
                      at, index, on_wire, length, kLongestFrame_bytes));
    if (left < kRecord_bytes || left - kRecord_bytes < length)
      return refuse(
          fmt::format("cut short in frame {} (byte {}); capture it anew, or keep its "
                      "whole frames with `tcpdump -r FILE -c {} -w NEW`",
                      index, at, index - 1));
    if (length < kShortestFrame_bytes || on_wire < length)
      return refuse(
          fmt::format("byte {}: frame {} has {} bytes, of which {} were kept; no Ethernet "
                      "frame is like that",
                      at, index, on_wire, length));
    if (index > limits.frames)
      return refuse(
          fmt::format("more than {} frames; take fewer with `tcpdump -r FILE -c {} -w "
                      "NEW`",
                      limits.frames, limits.frames));
    at += kRecord_bytes;
    capture.frames.push_back(
        {static_cast<uint32_t>(capture.bytes.size()), static_cast<uint16_t>(length), on_wire});
    capture.bytes.insert(capture.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  if (capture.frames.empty()) return refuse("a capture without a frame; capture some");
  return capture;
}

Result<Capture> read_capture(const std::string& file, const CaptureLimits& limits) {
  auto bytes = router::read_file(file, limits.bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_capture(*bytes, file, limits);
}

}  // namespace hecto::bench
