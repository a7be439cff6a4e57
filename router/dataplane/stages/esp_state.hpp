// What the stages of IPsec have in common: the tables and the engine of their thread, and the form
// of a batch of packets on its way through ESP.
#pragma once

#include <atomic>
#include <span>

#include "base/ether.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/offload/esp_offload.hpp"
#include "router/dataplane/stages/sa_mark.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/tables.hpp"

namespace hecto::router {

// Of one thread; plain pointers, that outlive the stages.
struct EspState {
  esp::IpsecView tables;
  SaMark mark;
  const std::atomic<uint32_t>* clock_s = nullptr;  // that control moves
  esp::Engine* engine = nullptr;
  bool counts = true;  // policies their packets; not of a packet that is only thought of

  uint32_t now_s() const noexcept { return clock_s->load(std::memory_order_relaxed); }
};

// Where a packet that outbound policies meet comes from.
enum class PacketSource : uint8_t { kPort, kLinux };

struct EspBatch {
  unsigned count = 0;
  alignas(64) esp::Packet packets[kChunkSize];
  alignas(64) EspFrame frames[kChunkSize];

  // A packet in one segment, from its IP header on.
  void add(rte_mbuf* packet, Ingress ingress, esp::Sa* sa) noexcept {
    const unsigned i = count++;
    const unsigned l2 = ingress.l2_length();
    const unsigned before = packet->data_off + l2;
    packets[i] = {rte_pktmbuf_mtod(packet, uint8_t*) + l2, packet->data_len - l2,
                  // The frame that goes out may have two tags.
                  static_cast<uint16_t>(before > kMostL2Bytes ? before - kMostL2Bytes : 0),
                  rte_pktmbuf_tailroom(packet), sa, Reason::kNone};
    frames[i].packet = packet;
    frames[i].ingress = ingress;
  }
  std::span<esp::Packet> all() noexcept { return {packets, count}; }
  // As observers are shown it, at any moment from add() to delivery.
  Observer::SaPacket observed(unsigned i) const noexcept {
    return {i,
            frames[i].packet,
            packets[i].ip,
            packets[i].bytes,
            frames[i].ingress.interface(),
            packets[i].sa->id.spi};
  }
};

}  // namespace hecto::router
