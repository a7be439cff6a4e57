#include "router/dataplane/observe/session.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

constexpr PacketDirection direction_of(CapturePoint point) {
  switch (point) {
    case CapturePoint::kReceive:
    case CapturePoint::kDecapOuter:
    case CapturePoint::kDecapInner:
      return PacketDirection::kInbound;
    case CapturePoint::kTransmit:
    case CapturePoint::kEncapInner:
    case CapturePoint::kEncapOuter:
      return PacketDirection::kOutbound;
    case CapturePoint::kDrop:
      break;
  }
  return PacketDirection::kUnknown;
}

CaptureRecord record_of(CapturePoint point, PortId port, uint32_t length) {
  CaptureRecord record;
  record.tsc = rte_rdtsc();
  record.length = length;
  record.interface = capture_interface(point, port);
  record.direction = direction_of(point);
  return record;
}

// The first `bytes` of a packet, whatever the number of its segments.
void copy_out(const rte_mbuf* packet, std::byte* to, uint32_t bytes) noexcept {
  for (; bytes > 0 && packet != nullptr; packet = packet->next) {
    const uint32_t some = std::min<uint32_t>(bytes, packet->data_len);
    std::memcpy(to, rte_pktmbuf_mtod(packet, const std::byte*), some);
    to += some;
    bytes -= some;
  }
}

}  // namespace

CaptureSession::CaptureSession(const CaptureOptions& options) : options_(options) {
  for (unsigned i = 0; i < options.threads; ++i)
    taps_.push_back(std::make_unique<CaptureTap>(*this, options.ring_bytes));
}

bool CaptureTap::wants(CapturePoint point) const noexcept {
  return (session_.options().points & bit(point)) != 0;
}

bool CaptureTap::from_there(const rte_mbuf* packet, InterfaceId interface) const noexcept {
  const CaptureOptions& options = session_.options();
  if (options.interface) return *options.interface == interface;
  return !options.match.port || *options.match.port == packet->port;
}

// Room for the record and its bytes, reserved and not yet published.
std::byte* CaptureTap::begin(CaptureRecord& record, uint32_t available) noexcept {
  record.captured =
      static_cast<uint16_t>(std::min({available, session_.options().snaplen, 65535u}));
  std::byte* entry = ring_.reserve(static_cast<uint32_t>(sizeof record) + record.captured);
  if (entry == nullptr) return nullptr;
  Counts& counts = counts_[record.interface];
  record.lost = counts.lost.get() - counts.reported;
  counts.reported += record.lost;
  std::memcpy(entry, &record, sizeof record);
  return entry + sizeof record;
}

bool CaptureTap::put_frame(CaptureRecord record, const rte_mbuf* packet) noexcept {
  std::byte* to = begin(record, packet->pkt_len);
  if (to == nullptr) return false;
  copy_out(packet, to, record.captured);
  return true;
}

void CaptureTap::count(uint16_t interface, bool put) noexcept {
  Counts& counts = counts_[interface];
  (put ? counts.taken : counts.lost).add(1);
}

void CaptureTap::received(const Chunk& chunk, PortId port, QueueId queue) noexcept {
  if (!wants(CapturePoint::kReceive)) return;
  for (unsigned i = 0; i < chunk.count; ++i) {
    const rte_mbuf* packet = chunk.packets[i];
    if (!session_.options().match.fits_frame(packet, port)) continue;
    if (!session_.begin()) break;
    CaptureRecord record = record_of(CapturePoint::kReceive, port, packet->pkt_len);
    record.queue = queue;
    count(record.interface, put_frame(record, packet));
  }
  ring_.publish();
}

void CaptureTap::put_drop(const rte_mbuf* packet, Reason reason) noexcept {
  if (!session_.begin()) return;
  CaptureRecord record = record_of(CapturePoint::kDrop, 0, packet->pkt_len);
  record.reason = reason;
  count(record.interface, put_frame(record, packet));
  ring_.publish();
}

void CaptureTap::dropped(const rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept {
  if (!wants(CapturePoint::kDrop) || !from_there(packet, interface)) return;
  PacketMatch match = session_.options().match;  // where it came in is known
  match.port.reset();
  match.tags.reset();
  if (match.fits_frame(packet, 0)) put_drop(packet, reason);
}

void CaptureTap::not_sent(const rte_mbuf* packet, Reason reason, PortId port) noexcept {
  if (wants(CapturePoint::kDrop) && session_.options().match.fits_frame(packet, port))
    put_drop(packet, reason);
}

void CaptureTap::offer(PortId port, rte_mbuf* const* packets, unsigned count) noexcept {
  offered_count_ = 0;
  if (!wants(CapturePoint::kTransmit)) return;
  offered_from_ = ring_.reserved();
  offered_port_ = port;
  offered_count_ = std::min(count, kMostOffered);
  for (unsigned i = 0; i < offered_count_; ++i) {
    Offered& offered = offered_[i];
    offered.wanted = session_.options().match.fits_frame(packets[i], port) && !session_.full();
    offered.put = false;
    if (offered.wanted) {
      const CaptureRecord record = record_of(CapturePoint::kTransmit, port, packets[i]->pkt_len);
      offered.put = put_frame(record, packets[i]);
    }
    offered.end = ring_.reserved();
  }
}

void CaptureTap::taken(unsigned sent) noexcept {
  const unsigned kept = std::min(sent, offered_count_);
  unsigned end = 0;
  for (; end < kept; ++end) {
    if (!offered_[end].wanted) continue;
    if (!session_.begin()) break;
    count(capture_interface(CapturePoint::kTransmit, offered_port_), offered_[end].put);
  }
  if (end < offered_count_) ring_.shrink_to(end == 0 ? offered_from_ : offered_[end - 1].end);
  ring_.publish();
  offered_count_ = 0;
}

void CaptureTap::put_ip(CapturePoint point, const uint8_t* ip, uint32_t bytes, Spi spi) noexcept {
  if (!wants(point) || !session_.begin()) return;
  CaptureRecord record = record_of(point, 0, bytes);
  record.spi = spi;
  std::byte* to = begin(record, bytes);
  if (to != nullptr) std::memcpy(to, ip, record.captured);
  count(record.interface, to != nullptr);
  ring_.publish();
}

void CaptureTap::before_sa(CapturePoint point, unsigned i, const rte_mbuf* packet,
                           const uint8_t* ip, uint32_t bytes, InterfaceId interface,
                           Spi spi) noexcept {
  fitted_[i] = from_there(packet, interface) && session_.options().match.fits_ip(ip, bytes);
  if (fitted_[i]) put_ip(point, ip, bytes, spi);
}

void CaptureTap::behind_sa(CapturePoint point, unsigned i, const rte_mbuf* packet,
                           const uint8_t* ip, uint32_t bytes, InterfaceId interface,
                           Spi spi) noexcept {
  if (fitted_[i] || (from_there(packet, interface) && session_.options().match.fits_ip(ip, bytes)))
    put_ip(point, ip, bytes, spi);
}

}  // namespace hecto::router
