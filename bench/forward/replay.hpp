// A port that replays packets from memory: DPDK's net_null hands out mbufs, and a receive callback
// writes a real 64-byte packet into each, one of a table of destinations in turn. What is sent to
// it, or to a sink (no-rx=1), is freed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lookup/prefix.hpp"
#include "router/control/route.hpp"

struct rte_mbuf;
struct rte_eth_rxtx_callback;

namespace hecto::bench {

enum class Traffic : uint8_t { kIpv4, kIpv6 };

class Replay {
 public:
  static constexpr unsigned kPacketBytes = 64;

  // Destinations: powers of two many of each family.
  Replay(uint16_t port, const router::MacAddress& port_mac, std::vector<uint32_t> destinations4,
         std::vector<lookup::Ipv6Address> destinations6);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void select(Traffic traffic) { traffic_ = traffic; }

 private:
  static uint16_t fill(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                       uint16_t most, void* self);
  void make_templates(const router::MacAddress& port_mac);
  void write4(uint8_t* frame);
  void write6(uint8_t* frame);

  struct Destination4 {
    uint32_t address_be;
    uint16_t checksum;
  };
  uint16_t port_;
  Traffic traffic_ = Traffic::kIpv4;
  alignas(64) std::array<uint8_t, kPacketBytes> template4_{};
  alignas(64) std::array<uint8_t, kPacketBytes> template6_{};
  std::vector<Destination4> destinations4_;
  std::vector<lookup::Ipv6Address> destinations6_;
  size_t next_ = 0;
  const rte_eth_rxtx_callback* callback_ = nullptr;
};

}  // namespace hecto::bench
