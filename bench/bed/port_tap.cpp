#include "bench/bed/port_tap.hpp"

#include <stdexcept>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {

std::array<MacAddress, 2> egress_macs(Bed& bed) {
  router::Dataplane& dataplane = bed.router().dataplane();
  return {dataplane.port(bed.out()[0])->mac(), dataplane.port(bed.out()[1])->mac()};
}

PortTap::PortTap(const Bed& bed, std::function<void(rte_mbuf*)> enter,
                 std::function<void(unsigned, rte_mbuf*)> leave)
    : bed_(bed), enter_(std::move(enter)), leave_(std::move(leave)) {
  in_ = rte_eth_add_rx_callback(bed.in(0), 0, receive, this);
  for (size_t side = 0; side < out_.size(); ++side) {
    out_[side] = rte_eth_add_tx_callback(bed.out()[side], 0, transmit, this);
    if (in_ == nullptr || out_[side] == nullptr)
      throw std::runtime_error("this DPDK has no callbacks");
  }
}

PortTap::~PortTap() {
  rte_eth_remove_rx_callback(bed_.in(0), 0, in_);
  for (size_t side = 0; side < out_.size(); ++side)
    rte_eth_remove_tx_callback(bed_.out()[side], 0, out_[side]);
}

uint16_t PortTap::receive(uint16_t, uint16_t, rte_mbuf** packets, uint16_t count, uint16_t,
                          void* self) {
  for (uint16_t i = 0; i < count; ++i) static_cast<PortTap*>(self)->enter_(packets[i]);
  return count;
}

uint16_t PortTap::transmit(uint16_t port, uint16_t, rte_mbuf** packets, uint16_t count,
                           void* self) {
  auto& tap = *static_cast<PortTap*>(self);
  const unsigned side = port == tap.bed_.out()[0] ? 0 : 1;
  for (uint16_t i = 0; i < count; ++i) tap.leave_(side, packets[i]);
  return count;
}

}  // namespace hecto::bench
