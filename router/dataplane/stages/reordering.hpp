// Reordering of TCP on its way in, sampled: of one flow at a time the segments with data that come
// behind one with a higher sequence number (RFC 4737 §3.3: s < NextExp). Bonds are watched for it, as
// a partner that shares out the packets of a flow over members makes TCP slow.
//
// Looks at kWindowPackets in a row, then rests for kRest_ms: all of it is some tenths of a per cent of
// a core, whatever comes in. A segment that was sent anew looks like one that was overtaken. It is
// taken for sent anew, and not counted as reordered, where it comes later than kLate_ms behind the last
// gap (so does Wireshark) or further than kFar_bytes back; others that were sent anew count.
//
// Not seen: fragments, TCP behind extension headers of IPv6 or in tunnels, what order packets of two
// receive queues had. Any frame may come. One for each worker.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/net.hpp"

struct rte_mbuf;

namespace hecto::router {

struct TcpSegment {
  struct Flow {
    std::array<uint64_t, 4>
        addresses{};         // source and destination as they lie, of IPv4 in the first
    uint32_t ports = 0;      // as they lie
    uint16_t vlan = 0xffff;  // of the innermost tag; 0xffff: none
    PortId port = 0;         // that received it
    bool operator==(const Flow&) const = default;
  };
  Flow flow;
  uint32_t sequence = 0;
  uint32_t bytes = 0;  // of data
  uint8_t flags = 0;   // RFC 9293 §3.1
};

// None: the frame has no whole TCP segment with its header in the first `bytes`. Never reads beyond
// these. `frame_bytes`: of the whole frame.
std::optional<TcpSegment> tcp_segment(PortId port, const uint8_t* frame, uint32_t bytes,
                                      uint32_t frame_bytes) noexcept;

class Reordering {
 public:
  static constexpr unsigned kWindowPackets = 1024, kRest_ms = 10;
  static constexpr unsigned kFlowSegments = 256;     // then another flow
  static constexpr unsigned kPatiencePackets = 128;  // of others, then another flow
  static constexpr unsigned kLate_ms = 3;
  static constexpr int32_t kFar_bytes = 1 << 20;

  struct Counts {
    unsigned segments = 0,
             reordered = 0;  // the first of a flow is held against nothing, and is not in
  };

  void configure(uint64_t hz) noexcept { cycles_per_ms_ = hz / 1000; }
  // A burst of a port. `now`: cycles.
  Counts watch(PortId port, rte_mbuf* const* packets, unsigned count, uint64_t now) noexcept;

 private:
  void take(const TcpSegment& segment, uint64_t now, Counts& counts) noexcept;
  void begin(const TcpSegment& segment, uint64_t now) noexcept;

  uint64_t cycles_per_ms_ = 0;
  bool follows_ = false;
  TcpSegment::Flow flow_;
  uint32_t next_ = 0;       // behind the highest sequence number so far
  uint64_t gap_at_ = 0;     // when a segment left some out; at first, when the flow's first came
  unsigned segments_ = 0;   // of the flow
  unsigned strangers_ = 0;  // packets since one of the flow
  unsigned looked_at_ = 0;  // packets, of this window
  uint64_t rests_until_ = 0;
};

}  // namespace hecto::router
