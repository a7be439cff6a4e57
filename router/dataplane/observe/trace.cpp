#include "router/dataplane/observe/trace.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

constexpr unsigned kEventsPerPacket = 16;

uint16_t capture(const rte_mbuf* packet, std::array<uint8_t, 128>& bytes) noexcept {
  const auto count = std::min<size_t>(packet->data_len, bytes.size());
  std::memcpy(bytes.data(), rte_pktmbuf_mtod(packet, const uint8_t*), count);
  return static_cast<uint16_t>(count);
}

}  // namespace

TraceSession::TraceSession(PacketMatch match, unsigned packets, uint16_t id)
    : match_(std::move(match)), packets_(packets), id_(id), slots_(packets * kEventsPerPacket) {}

bool TraceSession::wants(const rte_mbuf* packet) const noexcept {
  return !full() && match_.fits_frame(packet, PortId(packet->port));
}

uint32_t TraceSession::begin() noexcept {
  const uint32_t number = started_.fetch_add(1, std::memory_order_relaxed) + 1;
  return number <= packets_ ? number : 0;
}

void TraceSession::record(const TraceEvent& event) noexcept {
  const uint32_t at = used_.fetch_add(1, std::memory_order_relaxed);
  if (at >= slots_.size()) return;
  slots_[at].event = event;
  slots_[at].event.tsc = rte_rdtsc();
  slots_[at].ready.store(true, std::memory_order_release);
}

std::vector<TraceEvent> TraceSession::events() const {
  std::vector<TraceEvent> out;
  const size_t used = std::min<size_t>(used_.load(std::memory_order_relaxed), slots_.size());
  for (size_t i = 0; i < used; ++i)
    if (slots_[i].ready.load(std::memory_order_acquire)) out.push_back(slots_[i].event);
  return out;
}

TracedPackets::Entry* TracedPackets::find(const rte_mbuf* packet) noexcept {
  for (unsigned i = 0; i < count_; ++i)
    if (packets_[i].packet == packet) return &packets_[i];
  return nullptr;
}

TraceEvent TracedPackets::event(const Entry& entry, TraceKind kind, Stage stage) const noexcept {
  TraceEvent e;
  e.number = entry.number;
  e.kind = kind;
  e.stage = stage;
  e.length = entry.packet->pkt_len;
  e.captured = capture(entry.packet, e.bytes);
  return e;
}

void TracedPackets::start(TraceSession* session, const Chunk& chunk, uint16_t worker, PortId port,
                          QueueId queue) noexcept {
  session_ = session;
  for (unsigned i = 0; i < chunk.count && count_ < kMax; ++i) {
    if (!session->wants(chunk.packets[i])) continue;
    const uint32_t number = session->begin();
    if (number == 0) return;
    Entry& entry = packets_[count_++] = {chunk.packets[i], number, 0, false};
    TraceEvent e = event(entry, TraceKind::kReceived, Stage::kReceive);
    e.port = port;
    e.queue = queue;
    e.worker = worker;
    session->record(e);
  }
}

void TracedPackets::after_classify(const Chunk& chunk) noexcept {
  const auto note = [this](const auto& lane) {
    for (unsigned i = 0; i < lane.count; ++i) {
      Entry* entry = find(lane.packets[i]);
      if (entry == nullptr) continue;
      TraceEvent e = event(*entry, TraceKind::kClassified, Stage::kClassify);
      e.interface = lane.ingress[i].interface();
      session_->record(e);
    }
  };
  note(chunk.v4);
  note(chunk.v6);
}

void TracedPackets::after_lookup(const Chunk& chunk) noexcept {
  const auto note = [this](const auto& lane) {
    for (unsigned i = 0; i < lane.count; ++i) {
      Entry* entry = find(lane.packets[i]);
      if (entry == nullptr) continue;
      TraceEvent e = event(*entry, TraceKind::kLookedUp, Stage::kLookup);
      e.group = lane.groups[i];
      session_->record(e);
    }
  };
  note(chunk.v4);
  note(chunk.v6);
}

void TracedPackets::filtered(const rte_mbuf* packet, FilterPlace place, Reason reason,
                             std::span<const char> names) noexcept {
  const Entry* const entry = find(packet);
  if (entry == nullptr) return;
  TraceEvent e;
  e.number = entry->number;
  e.kind = TraceKind::kFiltered;
  e.stage = Stage::kFilter;
  e.length = packet->pkt_len;
  e.place = place;
  e.reason = reason;
  e.captured = static_cast<uint16_t>(std::min(names.size(), e.bytes.size()));
  std::memcpy(e.bytes.data(), names.data(), e.captured);
  session_->record(e);
}

// What is asked for came in a tunnel: from here on, as what was inside.
TracedPackets::Entry* TracedPackets::begin_inside(const rte_mbuf* packet) noexcept {
  if (session_ == nullptr || count_ == kMax || !session_->wants(packet)) return nullptr;
  const uint32_t number = session_->begin();
  if (number == 0) return nullptr;
  packets_[count_] = {packet, number, 0, false};
  return &packets_[count_++];
}

void TracedPackets::through_sa(const rte_mbuf* packet, TraceKind kind, Spi spi) noexcept {
  const Entry* entry = find(packet);
  if (entry == nullptr && kind == TraceKind::kDecapsulated) entry = begin_inside(packet);
  if (entry == nullptr) return;
  TraceEvent e =
      event(*entry, kind, kind == TraceKind::kDecapsulated ? Stage::kDecap : Stage::kEncap);
  e.spi = spi;
  session_->record(e);
}

void TracedPackets::after_rewrite(const rte_mbuf* packet, PortId port) noexcept {
  Entry* entry = find(packet);
  if (entry == nullptr || entry->queued) return;
  entry->queued = true;
  entry->egress = port;
  TraceEvent e = event(*entry, TraceKind::kRewritten, Stage::kRewrite);
  e.port = port;
  session_->record(e);
}

void TracedPackets::refused(const rte_mbuf* packet, Reason reason, bool punted,
                            InterfaceId interface) noexcept {
  Entry* entry = find(packet);
  if (entry == nullptr) return;
  TraceEvent e = event(*entry, punted ? TraceKind::kPunted : TraceKind::kDropped,
                       punted ? Stage::kPunt : info(reason).stage);
  e.reason = reason;
  e.interface = interface;
  session_->record(e);
  // A punted one is asked for its number yet, and may still be dropped where the queue is full.
  if (!punted) entry->packet = nullptr;
}

void TracedPackets::not_sent(const rte_mbuf* packet, Reason reason) noexcept {
  Entry* entry = find(packet);
  if (entry == nullptr) return;
  TraceEvent e = event(*entry, TraceKind::kDropped, Stage::kTransmit);
  e.reason = reason;
  e.port = entry->egress;
  session_->record(e);
  entry->packet = nullptr;
}

void TracedPackets::sent(PortId port) noexcept {
  for (unsigned i = 0; i < count_; ++i) {
    Entry& entry = packets_[i];
    if (entry.packet == nullptr || !entry.queued || entry.egress != port) continue;
    TraceEvent e;  // the packet is the driver's now: nothing of it may be read
    e.number = entry.number;
    e.kind = TraceKind::kTransmitted;
    e.stage = Stage::kTransmit;
    e.port = port;
    session_->record(e);
    entry.packet = nullptr;
  }
}

uint16_t TracedPackets::number(const rte_mbuf* packet) const noexcept {
  for (unsigned i = 0; i < count_; ++i)
    if (packets_[i].packet == packet) return static_cast<uint16_t>(packets_[i].number);
  return 0;
}

}  // namespace hecto::router
