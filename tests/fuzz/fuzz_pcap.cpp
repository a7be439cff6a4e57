// Captures of any bytes, pcap or pcapng: refused or read, never read beyond their end.
#include <cstddef>
#include <cstdint>

#include "bench/traffic/pcap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto::bench;
  const CaptureLimits limits{.bytes = size_t{1} << 20, .frames = 1000};
  auto capture = parse_capture({reinterpret_cast<const char*>(data), size}, "input", limits);
  if (!capture) return 0;
  if (capture->frames.empty() || capture->frames.size() > limits.frames) __builtin_trap();
  for (const Capture::Frame& frame : capture->frames)
    if (frame.length < 14 || frame.length > frame.on_wire ||
        frame.offset + frame.length > capture->bytes.size())
      __builtin_trap();
  return 0;
}
