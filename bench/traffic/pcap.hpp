// Captures by libpcap: pcap (microseconds or nanoseconds, either byte order) and pcapng, Ethernet
// alone. The input is not trusted: sizes are bounded, and what is cut short or malformed is refused
// with the byte where that shows. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

struct Capture {
  struct Frame {
    uint32_t offset = 0;   // in `bytes`
    uint16_t length = 0;   // bytes that were kept, without FCS
    uint32_t on_wire = 0;  // bytes that the frame had, without FCS
    std::span<const uint8_t> of(const Capture& capture) const {
      return std::span(capture.bytes).subspan(offset, length);
    }
  };
  std::vector<Frame> frames;
  std::vector<uint8_t> bytes;
};

struct CaptureLimits {
  size_t bytes = size_t{256} << 20;  // of the file
  size_t frames = 1'000'000;
};

bool is_capture(std::string_view bytes) noexcept;  // begins as one, of whichever format

// `label` names the input in errors. At least one frame.
Result<Capture> parse_capture(std::string_view bytes, const std::string& label,
                              const CaptureLimits& limits = {});
Result<Capture> read_capture(const std::string& file, const CaptureLimits& limits = {});

}  // namespace hecto::bench
