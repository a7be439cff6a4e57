#include "router/dataplane/stages/bridge.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

using lookup::MacTable;

constexpr uint64_t kMacMask = 0xffffffffffff;  // of a load of eight bytes
constexpr uint64_t kReserved = 0x0000c28001;   // 01:80:c2:00:00:0x, as loaded
constexpr uint64_t kReservedMask = 0xf0ffffffffff;
constexpr unsigned kAhead = 6;  // packets whose first line is being fetched

struct Frame {
  rte_mbuf* packet;
  uint64_t to, from;  // keys of the MAC table
  uint64_t to_hash, from_hash;
  uint16_t vlan;  // by which its bridge filters; 0: it does not
  bool tagged;
};

bool to_group(uint64_t mac) {
  return (mac & 1) != 0;
}

// The VLAN's tag as the egress port wants it. False: no room for it.
bool set_tag(rte_mbuf* packet, bool tagged, bool wanted, uint16_t vlan) noexcept {
  auto* data = rte_pktmbuf_mtod(packet, uint8_t*);
  if (tagged && !wanted) {
    std::memmove(data + kVlanTagBytes, data, 12);
    return rte_pktmbuf_adj(packet, kVlanTagBytes) != nullptr;
  }
  if (!tagged && wanted) {
    auto* const front = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(packet, kVlanTagBytes));
    if (front == nullptr) return false;
    std::memmove(front, data, 12);
    std::memcpy(front + 12, &kEtherVlan, sizeof kEtherVlan);
    store16_be(front + 14, vlan);
  } else if (tagged && (load16_be(data + 14) & 0xfff) == 0) {
    store16_be(data + 14, load16_be(data + 14) | vlan);  // a priority tag
  }
  return true;
}

class Switch {
 public:
  Switch(Chunk& chunk, const BridgePortView& port, PortId port_id, const BridgeViews& bridges,
         Transmitter& transmitter) noexcept
      : chunk_(chunk),
        port_(port),
        port_id_(port_id),
        bridges_(bridges),
        stations_(*bridges.stations),
        transmitter_(transmitter) {}

  uint64_t run() noexcept {
    const unsigned count = chunk_.count;
    chunk_.count = chunk_.refused_count = 0;
    for (unsigned i = 0; i < count; i += kAtOnce) {
      const unsigned end = std::min(count, i + kAtOnce);
      unsigned frames = 0;
      for (unsigned next = i; next < end; ++next) {
        if (next + kAhead < count)
          rte_prefetch0(rte_pktmbuf_mtod(chunk_.packets[next + kAhead], const void*));
        frames += begin(chunk_.packets[next], frames_[frames]);
      }
      for (unsigned next = 0; next < frames; ++next) finish(frames_[next]);
    }
    return gone_bytes_;
  }

 private:
  static constexpr unsigned kAtOnce =
      32;  // frames between begin() and finish(): their lines arrive

  void keep(rte_mbuf* packet) noexcept { chunk_.packets[chunk_.count++] = packet; }
  void refuse(rte_mbuf* packet, Reason reason) noexcept {
    gone_bytes_ += packet->pkt_len;
    chunk_.refuse(packet, reason, port_.interface);
  }

  // True: it is to be switched, and its look-ups are under way.
  bool begin(rte_mbuf* packet, Frame& frame) noexcept {
    if (packet->data_len < kEthernetBytes) [[unlikely]] {
      keep(packet);
      return false;
    }
    const uint8_t* const data = rte_pktmbuf_mtod(packet, const uint8_t*);
    const uint64_t to = load64_native(data) & kMacMask;
    const uint64_t from = load64_native(data + 6) & kMacMask;
    if ((to & kReservedMask) == kReserved) [[unlikely]] {
      refuse(packet, Reason::kOtherProtocol);
      return false;
    }
    if (to_group(from) || from == 0) [[unlikely]] {
      refuse(packet, Reason::kMartianSource);
      return false;
    }
    frame.packet = packet;
    frame.tagged = load16_native(data + 12) == kEtherVlan &&
                   packet->data_len >= kEthernetBytes + kVlanTagBytes;
    const uint16_t tag = frame.tagged ? load16_be(data + 14) & 0xfff : 0;
    if (tag != 0 && port_.beside[tag]) {
      keep(packet);
      return false;
    }
    frame.vlan = !port_.filters ? 0 : tag != 0 ? tag : port_.pvid;
    if (port_.filters && (frame.vlan == 0 || !port_.allowed[frame.vlan])) {
      refuse(packet, Reason::kBridgeVlan);
      return false;
    }
    const uint16_t domain = bridge_domain(port_.bridge, frame.vlan);
    frame.to = MacTable::key(domain, to);
    frame.from = MacTable::key(domain, from);
    frame.from_hash = stations_.fetch(frame.from);
    frame.to_hash = stations_.fetch(frame.to);
    return true;
  }

  void finish(const Frame& frame) noexcept {
    const uint16_t source = stations_.find_and_mark(frame.from, frame.from_hash);
    if (source != port_id_ || !port_.forwards) [[unlikely]]
      if (!admit(frame, source)) return;
    if (to_group(frame.to)) {
      const auto* const data = rte_pktmbuf_mtod(frame.packet, const uint8_t*);
      const uint16_t tag = frame.tagged ? load16_be(data + 14) & 0xfff : 0;
      if (port_.routed[tag])
        keep(frame.packet);  // classify has its name; Linux floods it, too
      else
        refuse(frame.packet, Reason::kBridgeFlood);
      return;
    }
    const uint16_t place = stations_.find(frame.to, frame.to_hash);
    if (place == MacTable::kNone)
      refuse(frame.packet, Reason::kBridgeFlood);
    else if ((place & kBridgeOwn) != 0)
      keep(frame.packet);
    else
      send(frame, PortId(place));
  }

  // From a station that is not known on this port, or by a port that does not forward. False: it is
  // gone.
  bool admit(const Frame& frame, uint16_t source) noexcept {
    const bool known = source == port_id_;
    Reason reason = Reason::kNone;
    if (source != MacTable::kNone && (source & kBridgeOwn) != 0) {
      reason = Reason::kLooped;
    } else if (!known && port_.learns) {
      // Where no more are learned it may still talk to who is known.
      const uint16_t place =
          to_group(frame.to) ? MacTable::kNone : stations_.find(frame.to, frame.to_hash);
      if (!port_.full || source != MacTable::kNone)
        reason = Reason::kBridgeLearn;
      else if (place == MacTable::kNone)
        reason = Reason::kBridgeFull;
    }
    if (!port_.forwards && reason != Reason::kBridgeLearn) reason = Reason::kBridgeBlocked;
    if (reason == Reason::kNone) return true;
    refuse(frame.packet, reason);
    return false;
  }

  void send(const Frame& frame, PortId to) noexcept {
    const BridgePortView* const egress = bridges_.ports[to].get();
    // Of another bridge: a number that one bridge has left may be another's before workers know.
    if (egress == nullptr || egress->bridge != port_.bridge || !egress->forwards ||
        (port_.isolated && egress->isolated)) {
      refuse(frame.packet, Reason::kBridgeBlocked);
      return;
    }
    if (to == port_id_ && !port_.hairpin) {
      refuse(frame.packet, Reason::kBridgeSamePort);
      return;
    }
    if (egress->filters && !egress->allowed[frame.vlan]) {
      refuse(frame.packet, Reason::kBridgeVlan);
      return;
    }
    // As Linux counts: a tag is no part of what the MTU holds.
    const uint32_t header = kEthernetBytes + (frame.tagged ? kVlanTagBytes : 0);
    if (frame.packet->pkt_len > header + egress->mtu) {
      refuse(frame.packet, Reason::kBridgeTooLong);
      return;
    }
    gone_bytes_ += frame.packet->pkt_len;
    if (egress->filters) {
      const bool wanted = !egress->untagged[frame.vlan];
      if ((wanted || frame.tagged) && !set_tag(frame.packet, frame.tagged, wanted, frame.vlan))
          [[unlikely]] {
        chunk_.refuse(frame.packet, Reason::kBridgeTooLong, port_.interface);
        return;
      }
    }
    transmitter_.enqueue(to, frame.packet);
  }

  Chunk& chunk_;
  const BridgePortView& port_;
  const PortId port_id_;
  const BridgeViews& bridges_;
  MacTable& stations_;
  Transmitter& transmitter_;
  uint64_t gone_bytes_ = 0;
  Frame frames_[kAtOnce];
};

}  // namespace

uint64_t switch_frames(Chunk& chunk, const BridgePortView& port, PortId port_id,
                       const BridgeViews& bridges, Transmitter& transmitter) noexcept {
  return Switch(chunk, port, port_id, bridges, transmitter).run();
}

}  // namespace hecto::router
