#include "router/dataplane/observe/flow_samples.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {

void FlowSampler::use(const FlowSamplingUse* sampling, unsigned thread, uint64_t seed) noexcept {
  count_ = 0;
  twice_ = false;
  if (sampling == nullptr || thread >= sampling->taps->size()) {
    tap_ = nullptr;
    return;
  }
  const bool another = tap_ == nullptr || sampling_.rate != sampling->sampling.rate;
  tap_ = &(*sampling->taps)[thread];
  sampling_ = sampling->sampling;
  if (random_ == 0) random_ = seed;
  if (another) next_ = draw() - 1;
}

// splitmix64.
uint32_t FlowSampler::random() noexcept {
  uint64_t mixed = random_ += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((mixed ^ mixed >> 31) >> 32);
}

// Packets until the next one, that one counted: 1 to 2 * rate - 1.
uint32_t FlowSampler::draw() noexcept {
  const uint64_t choices = 2 * uint64_t{sampling_.rate} - 1;
  return static_cast<uint32_t>(random() * choices >> 32) + 1;
}

bool FlowSampler::take_some(const Chunk& chunk, PortId port) noexcept {
  unsigned at = next_;
  while (at < chunk.count) {
    put(chunk.packets[at], port, sampling_.rate, tap_->ports[port], false);
    at += draw();
  }
  next_ = at - chunk.count;
  hint_ = 0;
  return count_ > 0;
}

void FlowSampler::choose(const rte_mbuf* packet, uint32_t rate) noexcept {
  if (tap_ == nullptr || !sampling_.chosen || packet->port >= kMaxPorts) return;
  FlowTap::Counts& counts = tap_->chosen[packet->port];
  counts.pool.add(1);
  if (uint64_t{random()} * rate >> 32 != 0) return;
  twice_ = true;
  put(packet, PortId(packet->port), rate, counts, true);
}

void FlowSampler::put(const rte_mbuf* packet, PortId port, uint32_t rate, FlowTap::Counts& counts,
                      bool chosen) noexcept {
  counts.taken.add(1);
  const uint32_t bytes = std::min<uint32_t>(packet->pkt_len, sampling_.header_bytes);
  std::byte* const entry =
      count_ == followed_.size() ? nullptr : tap_->ring.reserve(sizeof(FlowRecord) + bytes);
  if (entry == nullptr) {
    counts.lost.add(1);
    return;
  }
  std::byte* const copy = entry + sizeof(FlowRecord);
  const void* const found = rte_pktmbuf_read(packet, 0, bytes, copy);
  if (found != copy) std::memcpy(copy, found, bytes);
  followed_[count_++] = {packet,
                         {rate, packet->pkt_len, static_cast<uint16_t>(bytes), port, PortId(0),
                          SampleFate::kUnknown, Reason::kNone, chosen},
                         entry};
}

void FlowSampler::finish() noexcept {
  for (unsigned i = 0; i < count_; ++i)
    std::memcpy(followed_[i].entry, &followed_[i].record, sizeof(FlowRecord));
  count_ = 0;
  twice_ = false;
  tap_->ring.publish();
}

// Packets pass in the order in which they came, nearly always.
FlowSampler::Followed* FlowSampler::find(const rte_mbuf* packet) noexcept {
  for (unsigned seen = 0, i = hint_; seen < count_; ++seen) {
    if (i >= count_) i = 0;
    if (followed_[i].packet == packet) {
      hint_ = i + 1;
      return &followed_[i];
    }
    ++i;
  }
  return nullptr;
}

// A rule may have chosen it beside the port's own draw.
template <typename Do>
void FlowSampler::each(const rte_mbuf* packet, Do&& done) noexcept {
  Followed* const first = find(packet);
  if (first == nullptr) return;
  if (!twice_) [[likely]] {
    done(*first);
    return;
  }
  for (unsigned i = 0; i < count_; ++i)
    if (followed_[i].packet == packet) done(followed_[i]);
}

void FlowSampler::queued(const rte_mbuf* packet, PortId port) noexcept {
  each(packet, [port](Followed& followed) {
    followed.record.fate = SampleFate::kForwarded;
    followed.record.egress = port;
  });
}

void FlowSampler::sent(PortId port) noexcept {
  for (unsigned i = 0; i < count_; ++i)
    if (followed_[i].record.fate == SampleFate::kForwarded && followed_[i].record.egress == port)
      followed_[i].packet = nullptr;
}

// Its buffer may be another packet's before the chunk is done.
void FlowSampler::refused(const rte_mbuf* packet, Reason reason, SampleFate fate) noexcept {
  each(packet, [&](Followed& followed) {
    followed.record.fate = fate;
    followed.record.reason = reason;
    followed.packet = nullptr;
  });
}

void FlowSampler::replaced(const rte_mbuf* packet, const rte_mbuf* copy) noexcept {
  each(packet, [copy](Followed& followed) { followed.packet = copy; });
}

}  // namespace hecto::router
