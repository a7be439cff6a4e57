// One packet in N of what comes in, for sFlow and `hecto top flows`.
//
//   worker 0 ─► FlowSampler ─► FlowTap: ring, counters ─┐
//   worker 1 ─► FlowSampler ─► FlowTap ─────────────────┴─► control (SampleControl)
//
// A packet is chosen where it is received, before any stage, and copied as it came. With its chunk
// it goes on to where its fate is known: the port that it leaves by, or the reason why it does not.
// Then the copy is published. What is still under way behind its chunk (on a device, held for a
// neighbor, a fragment that waits for others) is published without.
//
// What a rule of the filters chooses (`sample`) goes the same way, beside these and counted apart: copied where
// it is judged, and told with the rule's rate.
//
// How far it is to the next one is drawn anew each time, evenly from 1 to 2N - 1 packets, so that
// nothing periodic hides: N on average, of each port of the thread alike.
//
// A sampler belongs to one thread. A tap's counters may be read from any, its ring by one reader.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/observe/ring.hpp"

namespace hecto::router {

inline constexpr size_t kFlowRing_bytes = 512 << 10;  // of each thread

struct FlowSampling {
  uint32_t rate = 1000;         // one packet in so many; 1: each
  uint16_t header_bytes = 128;  // of each
  uint64_t ports = 0;           // whose packets are sampled, a bit each
  bool chosen = false;          // so is what filters' rules choose
  bool operator==(const FlowSampling&) const = default;
};
static_assert(kMaxPorts == 64);

enum class SampleFate : uint8_t {
  kUnknown,
  kForwarded,  // to `egress`
  kPunted,     // to Linux, for `reason`
  kDropped,    // for `reason`
};

// An entry of a ring: this, then the bytes.
struct FlowRecord {
  uint32_t rate = 0;
  uint32_t length = 0;    // of the whole frame, without its checksum
  uint16_t captured = 0;  // bytes that follow
  PortId port = 0;        // that it came in by
  PortId egress = 0;
  SampleFate fate = SampleFate::kUnknown;
  Reason reason = Reason::kNone;
  bool chosen = false;  // by a filter's rule
};

struct FlowTap {
  FlowTap() : ring(kFlowRing_bytes) {}
  struct Counts {
    Counter pool;   // packets that could have been chosen
    Counter taken;  // chosen: read, lost, or still in the ring
    Counter lost;   // of them: the ring was full
  };
  CaptureRing ring;
  std::array<Counts, kMaxPorts> ports;
  std::array<Counts, kMaxPorts> chosen;  // by filters' rules
};

// Of all workers, by their id. They outlive the snapshots that name them.
class FlowTaps {
 public:
  explicit FlowTaps(size_t threads) : taps_(threads) {
    for (auto& tap : taps_) tap = std::make_unique<FlowTap>();
  }
  size_t size() const noexcept { return taps_.size(); }
  FlowTap& operator[](size_t thread) const noexcept { return *taps_[thread]; }
  FlowTap::Counts* counts(size_t thread, PortId port, bool chosen = false) const noexcept {
    return &(chosen ? taps_[thread]->chosen : taps_[thread]->ports)[port];
  }

 private:
  std::vector<std::unique_ptr<FlowTap>> taps_;
};

// What a snapshot holds.
struct FlowSamplingUse {
  FlowSampling sampling;
  std::shared_ptr<FlowTaps> taps;
};

class FlowSampler {
 public:
  // Null: nothing is sampled. Not within a chunk. `seed`: of the thread's own choice.
  void use(const FlowSamplingUse* sampling, unsigned thread, uint64_t seed) noexcept;
  bool on() const noexcept { return tap_ != nullptr; }

  // A chunk as it was received, of a sampler that is on. True: some of it was chosen, and is
  // followed until finish().
  bool take(const Chunk& chunk, PortId port) noexcept {
    if ((sampling_.ports >> port & 1) == 0) return false;
    tap_->ports[port].pool.add(chunk.count);
    if (next_ >= chunk.count) [[likely]] {
      next_ -= chunk.count;
      return false;
    }
    return take_some(chunk, port);
  }
  // One of those of which a rule wants one in `rate`: at random, where sFlow is on. Followed until finish(),
  // also where take() has not been called.
  void choose(const rte_mbuf* packet, uint32_t rate) noexcept;
  bool following() const noexcept { return count_ > 0; }
  void finish() noexcept;

  // What became of packets meanwhile; of any that pass, chosen or not.
  void queued(const rte_mbuf* packet, PortId port) noexcept;
  void sent(PortId port) noexcept;  // what was queued for it is the driver's now
  void refused(const rte_mbuf* packet, Reason reason, SampleFate fate) noexcept;
  void replaced(const rte_mbuf* packet, const rte_mbuf* copy) noexcept;

 private:
  struct Followed {
    const rte_mbuf* packet;  // null once it has left this thread's hands
    FlowRecord record;
    std::byte* entry;  // of the ring, where the record is put
  };
  bool take_some(const Chunk& chunk, PortId port) noexcept;
  void put(const rte_mbuf* packet, PortId port, uint32_t rate, FlowTap::Counts& counts,
           bool chosen) noexcept;
  uint32_t random() noexcept;
  uint32_t draw() noexcept;
  template <typename Do>
  void each(const rte_mbuf* packet, Do&& done) noexcept;
  Followed* find(const rte_mbuf* packet) noexcept;

  FlowTap* tap_ = nullptr;
  FlowSampling sampling_;
  uint32_t next_ = 0;  // packets that pass before the next one
  unsigned count_ = 0, hint_ = 0;
  bool twice_ = false;  // a packet may be followed more than once
  uint64_t random_ = 0;
  std::array<Followed, kChunkSize> followed_;
};

}  // namespace hecto::router
