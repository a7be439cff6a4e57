// Any bytes as a frame, in any segments: classify must name a reason or clear it, never read past
// its end (mbufs are as long as the frame here, so a sanitizer sees it), and the fast loop and
// the header kernels must say what `diagnose` says.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "router/dataplane/stages/classify.hpp"
#include "tests/beds/packets.hpp"

#include <rte_eal.h>

using namespace hecto::router;

namespace {

// An mbuf whose data is exactly the frame, in memory of its own.
struct Exact {
  Exact(const uint8_t* data, size_t bytes)
      : room(std::make_unique<uint8_t[]>(std::max<size_t>(bytes, 1))) {
    std::copy_n(data, bytes, room.get());
    packet.buf_addr = room.get();
    packet.data_off = 0;
    packet.nb_segs = 1;
    packet.data_len = static_cast<uint16_t>(bytes);
    packet.pkt_len = static_cast<uint32_t>(bytes);
  }
  std::unique_ptr<uint8_t[]> room;
  rte_mbuf packet{};
};

// The frame as often as a kernel takes a group: all or none are cleared, for the same reason.
void classify_group(test::Bed& bed, Chunk& chunk, const HeaderKernels& kernels,
                    const std::vector<uint8_t>& frame, const Diagnosis& d, uint32_t bytes) {
  std::vector<Exact> group;
  for (unsigned i = 0; i < kernels.lanes; ++i) group.emplace_back(frame.data(), frame.size());
  chunk.count = kernels.lanes;
  for (unsigned i = 0; i < chunk.count; ++i) chunk.packets[i] = &group[i].packet;
  classify<kFeatureVlan>(chunk, bed.port(), bed.snapshot, kernels);
  const bool cleared = d.reason == hecto::Reason::kNone;
  if (chunk.refused_count != (cleared ? 0 : chunk.count)) std::abort();
  for (const Exact& each : group)
    if (cleared && each.packet.pkt_len != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::Bed plain, stacked = test::Bed::with_two_tags();
  static const auto chunk = std::make_unique<Chunk>();
  if (size < 1 || size > 4096) return 0;
  test::Bed& bed = (data[0] & 2) != 0 ? stacked : plain;
  // Half of the inputs get our MAC, so that they come further than the first check.
  Exact expected(data + 1, size - 1);
  Exact fast(data + 1, size - 1);
  if (data[0] & 1 && size > 12)
    for (Exact* frame : {&expected, &fast})
      std::memcpy(frame->room.get(), test::kPortMac.data(), test::kPortMac.size());
  const std::vector<uint8_t> frame(fast.room.get(), fast.room.get() + size - 1);
  const Diagnosis d = diagnose(&expected.packet, bed.port(), bed.snapshot);
  chunk->count = 1;
  chunk->packets[0] = &fast.packet;
  classify<kFeatureVlan>(*chunk, bed.port(), bed.snapshot);
  const bool cleared = chunk->refused_count == 0;
  if (cleared != (d.reason == hecto::Reason::kNone)) std::abort();
  if (!cleared && chunk->refused[0].reason != d.reason) std::abort();
  if (cleared && fast.packet.pkt_len != expected.packet.pkt_len) std::abort();
  for (const hecto::lookup::Isa isa : hecto::lookup::kAllIsas)
    classify_group(bed, *chunk, header_kernels_of(isa), frame, d, expected.packet.pkt_len);
  return 0;
}
