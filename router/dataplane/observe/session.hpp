// `hecto capture`: copies of packets at chosen points of their way.
//
//   worker 0 ─► CaptureTap ─► ring ─┐
//   worker 1 ─► CaptureTap ─► ring ─┼─► CaptureReader (an API thread) ─► pcapng ─► client
//   slow path ► CaptureTap ─► ring ─┘
//
// A session is part of the snapshot only while it runs. Each thread has a tap and a ring of its
// own: nobody waits, and what a full ring refuses is counted for the interface where it was seen.
//
// Thread-safety: a tap belongs to one thread; counters and rings may be read by the reader.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/observe/packet_match.hpp"
#include "router/dataplane/observe/pcapng.hpp"
#include "router/dataplane/observe/ring.hpp"

namespace hecto::router {

// Where packets are taken. One pcapng interface each, of receive and transmit one for each port.
enum class CapturePoint : uint8_t {
  kReceive,     // frames as they came
  kTransmit,    // frames as the driver took them
  kDrop,        // frames that end here, with the reason
  kDecapOuter,  // ESP that an SA answers for, encrypted
  kDecapInner,  // what was inside
  kEncapInner,  // what an SA will protect
  kEncapOuter,  // ESP as it goes out
};
inline constexpr unsigned kCapturePoints = 7;
constexpr unsigned bit(CapturePoint point) {
  return 1u << static_cast<unsigned>(point);
}

// Of counters and pcapng interfaces: one for each port to receive, one to transmit, one for each of
// the other points.
inline constexpr unsigned kOtherInterfaces = 2 * kMaxPorts;  // from here on
inline constexpr unsigned kFirstOther = static_cast<unsigned>(CapturePoint::kDrop);
inline constexpr unsigned kCaptureInterfaces = kOtherInterfaces + kCapturePoints - kFirstOther;
constexpr uint16_t capture_interface(CapturePoint point, PortId port = 0) {
  if (point == CapturePoint::kReceive) return port;
  if (point == CapturePoint::kTransmit) return static_cast<uint16_t>(kMaxPorts + port);
  return static_cast<uint16_t>(kOtherInterfaces + static_cast<unsigned>(point) - kFirstOther);
}

// An entry of a ring: this, then the bytes.
struct CaptureRecord {
  uint64_t tsc = 0;
  uint64_t lost = 0;      // of its interface in this thread, since the record before
  uint32_t length = 0;    // of the whole packet
  Spi spi = 0;            // of its SA; 0: none
  uint16_t captured = 0;  // bytes that follow
  uint16_t interface = 0;
  QueueId queue = 0;  // of frames received
  Reason reason = Reason::kNone;
  PacketDirection direction = PacketDirection::kUnknown;
};

struct CaptureOptions {
  // Held against frames where they are captured: port and VLAN of receive and transmit are those
  // of the frame; of the other points, where the packet came in.
  PacketMatch match;
  std::optional<InterfaceId> interface;  // of where packets came in, for the other points
  unsigned points = bit(CapturePoint::kReceive) | bit(CapturePoint::kTransmit);
  uint32_t snaplen = 65535;
  uint64_t count = 0;           // packets to take; 0: no limit
  size_t ring_bytes = 1 << 20;  // of each thread
  unsigned threads = 1;
};

class CaptureSession;

class CaptureTap {
 public:
  CaptureTap(CaptureSession& session, size_t ring_bytes) : session_(session), ring_(ring_bytes) {}

  void received(const Chunk& chunk, PortId port, QueueId queue) noexcept;
  void dropped(const rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept;
  void not_sent(const rte_mbuf* packet, Reason reason, PortId port) noexcept;
  // Around a call of the driver, which may take only the first `sent` of what is offered.
  void offer(PortId port, rte_mbuf* const* packets, unsigned count) noexcept;
  void taken(unsigned sent) noexcept;
  // A packet `i` of a batch, before and behind an SA: what fits before is taken behind too.
  void before_sa(CapturePoint point, unsigned i, const rte_mbuf* packet, const uint8_t* ip,
                 uint32_t bytes, InterfaceId interface, Spi spi) noexcept;
  void behind_sa(CapturePoint point, unsigned i, const rte_mbuf* packet, const uint8_t* ip,
                 uint32_t bytes, InterfaceId interface, Spi spi) noexcept;

  CaptureRing& ring() noexcept { return ring_; }
  uint64_t taken_at(unsigned interface) const noexcept { return counts_[interface].taken.get(); }
  uint64_t lost_at(unsigned interface) const noexcept { return counts_[interface].lost.get(); }

 private:
  struct Counts {
    Counter taken, lost;
    uint64_t reported = 0;  // of lost, in records
  };
  bool wants(CapturePoint point) const noexcept;
  bool from_there(const rte_mbuf* packet, InterfaceId interface) const noexcept;
  std::byte* begin(CaptureRecord& record, uint32_t available) noexcept;
  bool put_frame(CaptureRecord record, const rte_mbuf* packet) noexcept;
  void put_drop(const rte_mbuf* packet, Reason reason) noexcept;
  void put_ip(CapturePoint point, const uint8_t* ip, uint32_t bytes, Spi spi) noexcept;
  void count(uint16_t interface, bool put) noexcept;

  CaptureSession& session_;
  CaptureRing ring_;
  std::array<Counts, kCaptureInterfaces> counts_;
  static constexpr unsigned kMostOffered = 64;
  struct Offered {
    uint64_t end = 0;  // of the ring, with this packet
    bool wanted = false, put = false;
  };
  uint64_t offered_from_ = 0;
  unsigned offered_count_ = 0;
  PortId offered_port_ = 0;
  std::array<Offered, kMostOffered> offered_;
  std::array<bool, kChunkSize> fitted_{};  // of a batch, before its SAs
};

class CaptureSession {
 public:
  explicit CaptureSession(const CaptureOptions& options);
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  const CaptureOptions& options() const noexcept { return options_; }
  CaptureTap& tap(unsigned thread) noexcept { return *taps_[thread]; }
  const std::vector<std::unique_ptr<CaptureTap>>& taps() const noexcept { return taps_; }

  bool full() const noexcept {
    return options_.count != 0 && begun_.load(std::memory_order_relaxed) >= options_.count;
  }
  // One packet more; false: there are enough.
  bool begin() noexcept {
    return options_.count == 0 || begun_.fetch_add(1, std::memory_order_relaxed) < options_.count;
  }
  // No thread has it any more: what is in the rings is all.
  bool left() const noexcept { return left_.load(std::memory_order_acquire); }
  void leave() noexcept { left_.store(true, std::memory_order_release); }

 private:
  CaptureOptions options_;
  std::atomic<uint64_t> begun_{0};
  std::atomic<bool> left_{false};
  std::vector<std::unique_ptr<CaptureTap>> taps_;
};

// What a snapshot holds. With the last of them the session is left.
class CaptureUse {
 public:
  explicit CaptureUse(std::shared_ptr<CaptureSession> session) : session_(std::move(session)) {}
  ~CaptureUse() { session_->leave(); }
  CaptureUse(const CaptureUse&) = delete;
  CaptureUse& operator=(const CaptureUse&) = delete;
  CaptureTap& tap(unsigned thread) const noexcept { return session_->tap(thread); }

 private:
  std::shared_ptr<CaptureSession> session_;
};

}  // namespace hecto::router
