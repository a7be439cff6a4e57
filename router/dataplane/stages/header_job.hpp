// What classify hands to a header kernel, and what it gets back: plain words, for a kernel is built for
// an instruction set of its own and must not share a line of code with the rest.
//
// A kernel checks a group of packets at once, as many as its vectors have lanes. A group whose packets
// are all fit to be forwarded goes into the lanes, trimmed; at one that is not it stops, and leaves that
// group to the loop that looks at one packet after the other. So it says yes, and never why not.
#pragma once

#include <stdint.h>

namespace hecto::router {

// Where an mbuf keeps what a kernel reads and writes of it; classify.hpp holds DPDK to it.
inline constexpr unsigned kMbufBuffer = 0, kMbufOffset = 16, kMbufSegments = 20,
                          kMbufPacketBytes = 36, kMbufBytes = 40;

// A lane's arrays.
struct HeaderLane {
  void* packets;  // of pointers
  void* destinations;
  void* ingress;  // of words
  uint32_t count;
};

struct HeaderJob {
  const void* const* packets;
  uint32_t next, count;  // the first that is not in a lane or refused yet; all
  uint64_t mac;          // that packets must be for, as PortView has it
  uint32_t own_tail;     // last four bytes of ours, that they must not be from
  uint32_t ingress;      // of what has no tag
  uint64_t bytes;        // of what went into a lane, as received
  HeaderLane v4, v6;
  const void* fib4;  // lookup::first_level; null: fetched by the look-up
};

// Stops at the first group that is not in order, or not full.
using HeaderKernel = void (*)(HeaderJob& job) noexcept;

}  // namespace hecto::router
