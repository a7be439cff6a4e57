// Any bytes as a frame, in any segments: classify must name a reason or clear it, never read past
// its end (mbufs are as long as the frame here, so a sanitizer sees it), and the fast loop must say
// what `diagnose` says.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "router/dataplane/stages/classify.hpp"
#include "tests/beds/packets.hpp"

#include <rte_eal.h>

using namespace hecto::router;

namespace {

// An mbuf whose data is exactly the frame, in memory of its own.
struct Exact {
  Exact(const uint8_t* data, size_t bytes)
      : room(std::make_unique<uint8_t[]>(std::max<size_t>(bytes, 1))) {
    std::memcpy(room.get(), data, bytes);
    packet.buf_addr = room.get();
    packet.data_off = 0;
    packet.nb_segs = 1;
    packet.data_len = static_cast<uint16_t>(bytes);
    packet.pkt_len = static_cast<uint32_t>(bytes);
  }
  std::unique_ptr<uint8_t[]> room;
  rte_mbuf packet{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::Bed bed;
  static const auto chunk = std::make_unique<Chunk>();
  if (size < 1 || size > 4096) return 0;
  // Half of the inputs get our MAC, so that they come further than the first check.
  Exact expected(data + 1, size - 1);
  Exact fast(data + 1, size - 1);
  if (data[0] & 1 && size > 12)
    for (Exact* frame : {&expected, &fast})
      std::memcpy(frame->room.get(), test::kPortMac.data(), test::kPortMac.size());
  const Diagnosis d = diagnose(&expected.packet, bed.port(), bed.snapshot);
  chunk->count = 1;
  chunk->packets[0] = &fast.packet;
  classify<kFeatureVlan>(*chunk, bed.port(), bed.snapshot);
  const bool cleared = chunk->refused_count == 0;
  if (cleared != (d.reason == hecto::Reason::kNone)) std::abort();
  if (!cleared && chunk->refused[0].reason != d.reason) std::abort();
  if (cleared && fast.packet.pkt_len != expected.packet.pkt_len) std::abort();
  return 0;
}
