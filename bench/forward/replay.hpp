// Ports that replay packets from memory: DPDK's net_null hands out mbufs, and a receive callback
// writes a real packet into each, to one of a table of destinations in turn. What is sent to such
// a port, or to a sink (no-rx=1), is freed. The sizes are those of the mbufs: no FCS.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lookup/prefix.hpp"
#include "router/control/route.hpp"

struct rte_mbuf;
struct rte_eth_rxtx_callback;

namespace hecto::bench {

enum class Traffic : uint8_t { kIpv4, kIpv6 };

inline constexpr unsigned kLeastFrame_bytes = 64;
inline constexpr unsigned kLargestFrame_bytes = 9014;

// Where packets go, shared by all ports. Powers of two many of each family.
struct ReplayDestinations {
  struct Ipv4 {
    uint32_t address_be;
    uint32_t sum;  // of the header's 16-bit words without length and checksum
  };
  std::vector<Ipv4> ipv4;
  std::vector<lookup::Ipv6Address> ipv6;
};
ReplayDestinations replay_destinations(const std::vector<uint32_t>& destinations4,
                                       std::vector<lookup::Ipv6Address> destinations6);

struct ReplayFrames {
  std::vector<uint16_t> sizes = {kLeastFrame_bytes};  // in turn; few of them differ
  // Each frame is copied in and out, as between processes that share memory; else only its headers
  // are written, as if a NIC had put the rest there.
  bool copied = false;
  bool plain() const { return sizes.size() == 1 && sizes[0] == kLeastFrame_bytes && !copied; }
};

class Replay {
 public:
  Replay(uint16_t port, const router::MacAddress& port_mac, const ReplayDestinations& destinations,
         const ReplayFrames& frames);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // From any thread.
  void select(Traffic traffic) { traffic_.store(traffic, std::memory_order_relaxed); }
  void set_active(bool active) { active_.store(active, std::memory_order_relaxed); }

  // The next packet's headers, for who sends instead of receiving. `frame` has room for the
  // largest.
  uint16_t write(uint8_t* frame);

 private:
  static constexpr unsigned kHeader_bytes = 64;
  using Template = std::array<uint8_t, kHeader_bytes>;
  struct Shape {  // one size
    alignas(64) Template header4;
    alignas(64) Template header6;
    uint32_t length4_be;
    uint16_t bytes;
  };
  static uint16_t fill(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                       uint16_t most, void* self);
  static Shape make_shape(const router::MacAddress& port_mac, uint16_t bytes);
  void write4(uint8_t* frame, const Shape& shape);
  void write6(uint8_t* frame, const Shape& shape);
  template <Traffic kTraffic>
  void fill_plain(rte_mbuf** packets, uint16_t count);
  void fill_any(rte_mbuf** packets, uint16_t count);

  uint16_t port_;
  std::atomic<Traffic> traffic_{Traffic::kIpv4};
  std::atomic<bool> active_{true};
  bool plain_;
  bool copied_;
  const ReplayDestinations& destinations_;
  std::vector<Shape> shapes_;
  std::vector<uint8_t> turn_;  // indexes of shapes_, a power of two many or one
  std::vector<uint8_t> payload_;
  size_t next_ = 0;
  size_t next_turn_ = 0;
  const rte_eth_rxtx_callback* callback_ = nullptr;
};

// Copies out what is sent on one transmit queue.
class CopyingSink {
 public:
  CopyingSink(uint16_t port, uint16_t queue);
  ~CopyingSink();
  CopyingSink(const CopyingSink&) = delete;
  CopyingSink& operator=(const CopyingSink&) = delete;

 private:
  static uint16_t copy(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                       void* self);
  uint16_t port_;
  uint16_t queue_;
  std::vector<uint8_t> frame_;
  const rte_eth_rxtx_callback* callback_ = nullptr;
};

}  // namespace hecto::bench
