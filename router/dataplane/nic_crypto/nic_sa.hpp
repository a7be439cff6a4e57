// What workers read of an SA that ports' NICs have a part in. Written by NicSessions alone, but for
// the count; lives as long as a worker may hold the SA.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "router/dataplane/core/counters.hpp"

namespace hecto::router {

// A session as the packets that go out by it need it.
struct NicSession {
  void* context = nullptr;  // of its port
  void* session = nullptr;
  bool metadata = false;  // the driver wants rte_security_set_pkt_metadata
};

struct NicSa {
  std::array<std::atomic<const NicSession*>, kMaxPorts> seals{};  // by egress port; null: none
  std::atomic<uint64_t> opens{0};                                 // bit by port
  std::atomic<uint64_t> packets{0};                               // that a NIC had, both ways

  bool opened_by(PortId port) const noexcept {
    return port < kMaxPorts && (opens.load(std::memory_order_acquire) >> port & 1) != 0;
  }
};
static_assert(kMaxPorts == 64);

}  // namespace hecto::router
