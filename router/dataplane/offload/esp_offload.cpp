#include "router/dataplane/offload/esp_offload.hpp"

#include <cstring>

#include "gpu_offload/crypto/esp.hpp"
#include "router/ipsec/esp/crypto.hpp"

namespace hecto::router {

using gpu_offload::JobKind;
using gpu_offload::Outcome;
using gpu_offload::Side;
using gpu_offload::Slot;
using gpu_offload::crypto::EspPacket;
using gpu_offload::crypto::EspVerdict;

namespace {

constexpr uint32_t kAlignment = 16;  // of a packet's bytes in a slot

EspPacket packet_for_device(const esp::Work& work, uint64_t payload) {
  const esp::Shape& shape = work.sa->shape();
  EspPacket packet{};
  std::memcpy(packet.iv, work.esp + esp::kEspHeaderBytes, shape.iv_bytes);
  esp::write_aad(work, shape, packet.aad);
  packet.aad_length = shape.esn ? 12 : 8;
  packet.key = work.sa->device_key;
  packet.payload = payload;
  packet.length = packet.icv = static_cast<uint16_t>(work.text_bytes);
  return packet;
}

}  // namespace

EspPath::EspPath(std::unique_ptr<gpu_offload::Stage> stage,
                 const gpu_offload::DecisionOptions& options)
    : OffloadPath(std::move(stage), options),
      work_(size_t{slots()} * items_),
      packets_(work_.size()),
      frames_(work_.size()),
      starts_(work_.size()) {}

bool EspPath::seals() const noexcept {
  return stage_->options().kind == JobKind::kSealGcm || stage_->options().kind == JobKind::kSealCbc;
}

// A slot of the CPU's side needs no bytes: they are worked on in the mbufs.
bool EspPath::take(const esp::Work& work, const EspFrame& frame, Side side,
                   uint64_t now_ns) noexcept {
  const uint32_t bytes = work.text_bytes + work.sa->shape().icv_bytes;
  const uint32_t room = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Slot* slot = this->room(side, 1, side == Side::kDevice ? room : 0, now_ns);
  if (slot == nullptr) return false;
  last_slot_ = slot->index;
  const size_t at = place(*slot, slot->count);
  work_[at] = work;
  packets_[at] = *work.packet;
  work_[at].packet = &packets_[at];
  frames_[at] = frame;
  starts_[at] = slot->payload_used;
  if (slot->side == Side::kDevice) {
    std::memcpy(slot->payload + slot->payload_used, text_of(work, work.sa->shape()), bytes);
    const EspPacket packet = packet_for_device(work, slot->payload_used);
    std::memcpy(slot->input + slot->count * sizeof packet, &packet, sizeof packet);
    slot->add(1, room);
  } else {
    slot->add(1);
  }
  hold(1);
  return true;
}

void EspPath::complete(const Slot& slot, Outcome outcome, uint32_t first, std::span<esp::Work> work,
                       esp::Engine& engine) const noexcept {
  if (outcome == Outcome::kRedo) return do_here(work, engine);
  const uint32_t* starts = &starts_[place(slot, first)];
  for (size_t i = 0; i < work.size(); ++i) {
    esp::Work& one = work[i];
    const auto verdict = static_cast<EspVerdict>(slot.output[first + i]);
    if (verdict == EspVerdict::kUnservable) {  // its key is not there yet
      do_here({&one, 1}, engine);
      continue;
    }
    one.failed = verdict != EspVerdict::kDone;
    if (one.failed) continue;
    const uint32_t bytes = one.text_bytes + (seals() ? one.sa->shape().icv_bytes : 0U);
    std::memcpy(text_of(one, one.sa->shape()), slot.result + starts[i], bytes);
  }
}

void EspDirection::begin(std::span<esp::Work> work, const esp::Packet* packets,
                         const EspFrame* frames, bool here) noexcept {
  packets_ = packets;
  frames_ = frames;
  count_ = static_cast<unsigned>(work.size());
  next_ = here_ = 0;
  parts_.fill({});
  for (const esp::Work& one : work) {
    Part& part = parts_[path_of(*one.sa)];
    ++part.count;
    part.bytes += one.text_bytes;
  }
  for (unsigned i = 0; i < kPaths; ++i) {
    Part& part = parts_[i];
    if (part.count == 0) continue;
    if (!here) part.side = paths_[i].choose(part.count, part.bytes, clock_());
    part.here = part.side == Side::kCpu && paths_[i].empty();
  }
}

bool EspDirection::take() noexcept {
  const uint64_t start = clock_();
  EspPath* last = nullptr;
  bool room = true;
  for (; next_ < count_; ++next_) {
    const esp::Work& one = work_[next_];
    const unsigned i = path_of(*one.sa);
    if (parts_[i].here) {
      if (here_ != next_) work_[here_] = one;
      ++here_;
      continue;
    }
    room = paths_[i].take(one, frames_[one.packet - packets_], parts_[i].side, start);
    if (!room) break;
    last = &paths_[i];
  }
  if (last != nullptr) last->gathered(clock_() - start);
  return room;
}

// Of one transform; what a mixture took tells nothing.
void EspDirection::took_here(uint64_t ns) noexcept {
  for (unsigned i = 0; i < kPaths; ++i)
    if (parts_[i].count == here_ && parts_[i].here && here_ > 0)
      paths_[i].cpu_took(here_, parts_[i].bytes, ns);
}

}  // namespace hecto::router
