// A worker's ESP on its device: what an SA's packets are between the engine's steps.
//
//   Engine::check ─┐ begin(work) ─► take() ─► slot {EspPacket, ciphertext}; held here: mbuf,
//   Engine::write ─┘     │                                                   Work, Packet
//                        └► here(): for the caller's engine, now
//   poll() ─► the device's bytes over the mbuf's, or the engine's ─► deliver(work, frames)
//
// An SA's packets all go by the path of its transform, GCM or CBC; those of one path never overtake
// each other. An SA without a key on the device is the CPU's always.
//
// Control makes it; then the worker's thread alone calls it. Counters and explanations may be read
// from any thread.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/ether.hpp"
#include "router/dataplane/offload/clock.hpp"
#include "router/dataplane/offload/offload_path.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router {

// What the stages of IPsec keep of a packet beside esp::Packet.
struct EspFrame {
  rte_mbuf* packet;
  Ingress ingress;
  lookup::GroupId group;  // encap: of the tunnel's end
  union {
    lookup::GroupId route;  // encap: by which a packet of a port would go on
    // Of decap: the frame's own header, but its EtherType, which is written anew. Of two tags the inner
    // one's TPID is 0x8100 and not kept, so that two of these fit a cache line.
    uint8_t l2[kEthernetBytes + kVlanTagBytes];
  };

  // In front of an IP header.
  void keep_l2(const uint8_t* frame, unsigned length) noexcept {
    std::memcpy(l2, frame, sizeof l2);
    if (length == kMostL2Bytes) [[unlikely]]
      std::memcpy(l2 + 16, frame + 18, 2);
  }
  void put_l2(uint8_t* frame, unsigned length) const noexcept {
    if (length == kEthernetBytes) [[likely]] {
      std::memcpy(frame, l2, kEthernetBytes);
      return;
    }
    std::memcpy(frame, l2, sizeof l2);
    if (length != kMostL2Bytes) return;
    std::memcpy(frame + 16, &kEtherVlan, 2);
    std::memcpy(frame + 18, l2 + 16, 2);
  }
};
static_assert(sizeof(EspFrame) == 32);

// One direction of one kind of transform.
class EspPath : public OffloadPath {
 public:
  EspPath(std::unique_ptr<gpu_offload::Stage> stage, const gpu_offload::DecisionOptions& options);

  gpu_offload::Side choose(unsigned count, uint64_t bytes, uint64_t now_ns) noexcept {
    return decision_.choose(count, bytes, stage_->ready(), now_ns);
  }
  // False when there is no room: poll() makes some.
  bool take(const esp::Work& work, const EspFrame& frame, gpu_offload::Side side,
            uint64_t now_ns) noexcept;
  // What a number of take() took.
  void gathered(uint64_t ns) noexcept { OffloadPath::gathered(last_slot_, ns); }
  // Delivers what has come to its turn: deliver(std::span<esp::Work>, const EspFrame*), at most a
  // chunk at once, sealed or opened, or `failed`.
  template <typename Deliver>
  void poll(esp::Engine& engine, Deliver&& deliver) noexcept;
  void cpu_took(unsigned count, uint64_t bytes, uint64_t ns) noexcept {
    decision_.cpu_took(count, bytes, ns);
  }

 private:
  bool seals() const noexcept;
  void complete(const gpu_offload::Slot& slot, gpu_offload::Outcome outcome, uint32_t first,
                std::span<esp::Work> work, esp::Engine& engine) const noexcept;
  void do_here(std::span<esp::Work> work, esp::Engine& engine) const noexcept {
    seals() ? engine.seal(work) : engine.open(work);
  }

  OffloadClock clock_;
  // By slot and item.
  std::vector<esp::Work> work_;
  std::vector<esp::Packet> packets_;
  std::vector<EspFrame> frames_;
  // Where its bytes begin in the slot's payload and result: what the slot says of it is a device's to
  // write.
  std::vector<uint32_t> starts_;
  unsigned last_slot_ = 0;
};

// Opening or sealing: the paths of both kinds of transform, and a chunk's packets on their way
// there.
class EspDirection {
 public:
  static constexpr unsigned kPaths = 2;  // GCM, CBC
  EspDirection(std::unique_ptr<gpu_offload::Stage> gcm, std::unique_ptr<gpu_offload::Stage> cbc,
               const gpu_offload::DecisionOptions& options)
      : paths_{{{std::move(gcm), options}, {std::move(cbc), options}}} {}

  esp::Work* work() noexcept { return work_.data(); }  // room for a chunk's
  // Of the packets `packets[n]` go with `frames[n]`; both stay until take() is true. `here`: none
  // goes to the device, as long as nothing is in flight there.
  void begin(std::span<esp::Work> work, const esp::Packet* packets, const EspFrame* frames,
             bool here) noexcept;
  // False when there is no room: poll() makes some, then again.
  bool take() noexcept;
  // What is left for the caller's engine, in order; then what it took.
  std::span<esp::Work> here() noexcept { return {work_.data(), here_}; }
  uint64_t now() const noexcept { return clock_(); }
  void took_here(uint64_t ns) noexcept;

  template <typename Deliver>
  void poll(esp::Engine& engine, Deliver&& deliver) noexcept {
    for (EspPath& path : paths_) path.poll(engine, deliver);
  }

  EspPath& path(unsigned i) noexcept { return paths_[i]; }
  const EspPath& path(unsigned i) const noexcept { return paths_[i]; }
  bool empty() const noexcept { return paths_[0].empty() && paths_[1].empty(); }
  uint32_t held() const noexcept { return paths_[0].held() + paths_[1].held(); }

 private:
  static constexpr unsigned kNoPath = kPaths;
  static unsigned path_of(const esp::Sa& sa) noexcept {
    if (sa.device_key == esp::kNoDeviceKey) return kNoPath;
    return sa.shape().cipher == esp::Cipher::kAesGcm ? 0 : 1;
  }
  struct Part {  // of the chunk: what goes by one path, or by none
    unsigned count = 0;
    uint64_t bytes = 0;
    bool here = true;
    gpu_offload::Side side = gpu_offload::Side::kCpu;
  };

  OffloadClock clock_;
  std::array<EspPath, kPaths> paths_;
  alignas(64) std::array<esp::Work, kChunkSize> work_;
  const esp::Packet* packets_ = nullptr;
  const EspFrame* frames_ = nullptr;
  std::array<Part, kPaths + 1> parts_;
  unsigned count_ = 0, next_ = 0, here_ = 0;
};

class EspOffload {
 public:
  EspOffload(std::unique_ptr<EspDirection> opening, std::unique_ptr<EspDirection> sealing)
      : opening_(std::move(opening)), sealing_(std::move(sealing)) {}
  EspDirection& opening() noexcept { return *opening_; }
  EspDirection& sealing() noexcept { return *sealing_; }
  const EspDirection& opening() const noexcept { return *opening_; }
  const EspDirection& sealing() const noexcept { return *sealing_; }

 private:
  std::unique_ptr<EspDirection> opening_, sealing_;
};

template <typename Deliver>
void EspPath::poll(esp::Engine& engine, Deliver&& deliver) noexcept {
  using gpu_offload::Slot;
  const auto work = [&](const Slot& slot, uint32_t first, uint32_t count) {
    return std::span(&work_[place(slot, first)], count);
  };
  const auto complete = [&](const Slot& slot, gpu_offload::Outcome outcome, uint32_t first,
                            uint32_t count) {
    uint64_t bytes = 0;
    this->complete(slot, outcome, first, work(slot, first, count), engine);
    for (const esp::Work& one : work(slot, first, count)) bytes += one.text_bytes;
    return bytes;
  };
  poll_slots(clock_, complete, [&](const Slot& slot, uint32_t first, uint32_t count) {
    deliver(work(slot, first, count), &frames_[place(slot, first)]);
  });
}

}  // namespace hecto::router
