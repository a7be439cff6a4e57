// Sees each packet that comes in by a bed's first receive port, behind what writes it, and each that
// its first worker sends, before it is freed. For passes that are not timed.
#pragma once

#include <array>
#include <functional>

#include "bench/bed/bed.hpp"

struct rte_eth_rxtx_callback;
struct rte_mbuf;

namespace hecto::bench {

// What leaves by the egress ports comes from these.
std::array<MacAddress, 2> egress_macs(Bed& bed);

class PortTap {
 public:
  // `leave` is told by which of the egress ports.
  PortTap(const Bed& bed, std::function<void(rte_mbuf*)> enter,
          std::function<void(unsigned side, rte_mbuf*)> leave);
  ~PortTap();
  PortTap(const PortTap&) = delete;
  PortTap& operator=(const PortTap&) = delete;

 private:
  static uint16_t receive(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                          uint16_t most, void* self);
  static uint16_t transmit(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                           void* self);

  const Bed& bed_;
  std::function<void(rte_mbuf*)> enter_;
  std::function<void(unsigned, rte_mbuf*)> leave_;
  const rte_eth_rxtx_callback* in_ = nullptr;
  std::array<const rte_eth_rxtx_callback*, 2> out_{};
};

}  // namespace hecto::bench
