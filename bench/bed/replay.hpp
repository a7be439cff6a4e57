// Ports that replay packets from memory: DPDK's net_null hands out mbufs, and a receive callback
// writes a real packet into each, to one of a table of destinations in turn. What is sent to such
// a port, or to a sink (no-rx=1), is freed. The sizes are those of the mbufs: no FCS.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/bed/gre_tunnels.hpp"
#include "bench/bed/packet_ring.hpp"
#include "lookup/prefix.hpp"
#include "router/rib/route.hpp"

struct rte_mbuf;
struct rte_mempool;
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
  // The first-level cache is swept out after each burst that comes in and before each that is
  // freed, as copies of large frames do.
  bool swept = false;
  bool in_gre = false;  // to our end of a tunnel (gre_tunnels.hpp); sizes: of what is inside
  PacketCache cache = PacketCache::kL1;  // where packets lie when they are received
  bool plain() const {
    return sizes.size() == 1 && sizes[0] == kLeastFrame_bytes && !copied && !in_gre;
  }
};

// Frames as they lie on the wire, one behind another.
struct WholeFrames {
  std::vector<uint8_t> bytes;
  std::vector<size_t> ends = {};  // of each, in `bytes`
  void add(const uint8_t* frame, size_t length);
};

// Drives out what a core's first-level data cache holds.
class CacheSweep {
 public:
  CacheSweep();
  void run();
  uint64_t cycles() const { return cycles_; }  // that all runs took

 private:
  std::vector<uint8_t> bytes_;
  uint64_t cycles_ = 0;
  uint64_t sum_ = 0;
};

class Replay {
 public:
  // `frames`: one or more kinds, of which one is selected before the first packet. `pool`: of the
  // port, for rings.
  Replay(uint16_t port, const MacAddress& port_mac, rte_mempool* pool,
         const ReplayDestinations& destinations, const std::vector<ReplayFrames>& frames);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // From any thread.
  void select(Traffic traffic) { traffic_.store(traffic, std::memory_order_relaxed); }
  void set_active(bool active) { active_.store(active, std::memory_order_relaxed); }
  // While it is not active: not more than so many packets for each of `leader` from now on; null: as many
  // as are asked for.
  void follow(const Replay* leader, double share);
  // While it is not active: not more than so many packets a second from now on; 0: as many as are asked for.
  void pace(double pps);
  // From the thread that polls the port, or while nobody does.
  void select_frames(size_t kind);
  // These in turn, copied whole into the mbufs, `to_port`: but to the port's own MAC; null: again
  // those of the kind selected.
  void select_whole(const WholeFrames* frames, bool to_port = true);
  // What waits in the ring becomes what is selected now, as select_frames() and select_whole() do
  // themselves. From the thread that polls the port, or while nobody does.
  void settle();

  uint64_t sweep_cycles() const { return sweep_.cycles(); }

  // The next packet's headers, for who sends instead of receiving. `frame` has room for the
  // largest.
  uint16_t write(uint8_t* frame);
  // And what lies in the cache that the kind of frames says, instead of what was just written.
  void exchange(rte_mbuf** packets, uint16_t count) noexcept {
    if (!ring_.empty()) ring_.exchange(packets, count);
  }

 private:
  static constexpr unsigned kHeader_bytes = 64;
  using Template = std::array<uint8_t, kHeader_bytes>;
  using GreFront = std::array<uint8_t, kGreFront>;
  struct Shape {  // one size
    alignas(64) Template header4;
    alignas(64) Template header6;
    GreFront front4, front6;
    uint32_t length4_be;
    uint16_t bytes;
  };
  struct Kind {
    explicit Kind(const MacAddress& port_mac, const ReplayFrames& frames);
    std::vector<Shape> shapes;
    std::vector<uint8_t> turn;  // indexes of shapes
    size_t next_turn = 0;
    bool plain;
    bool copied;
    bool swept;
    bool in_gre;
    unsigned ring_packets;
  };
  static uint16_t fill(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                       uint16_t most, void* self);
  bool ahead() const;
  static Shape make_shape(const MacAddress& port_mac, uint16_t bytes);
  void write4(uint8_t* frame, const Shape& shape);
  void write6(uint8_t* frame, const Shape& shape);
  template <Traffic kTraffic>
  void fill_plain(rte_mbuf** packets, uint16_t count);
  void fill_any(rte_mbuf** packets, uint16_t count);
  void fill_whole(rte_mbuf** packets, uint16_t count);
  void fill_selected(rte_mbuf** packets, uint16_t count);

  uint16_t port_;
  rte_mempool* pool_;
  std::atomic<Traffic> traffic_{Traffic::kIpv4};
  std::atomic<bool> active_{true};
  std::atomic<uint64_t> given_{0};  // packets
  std::atomic<const Replay*> leader_{nullptr};
  uint64_t leader_began_ = 0, began_ = 0;  // what both had given
  double share_ = 0;
  double per_cycle_ = 0;      // packets; 0: any
  uint64_t paced_since_ = 0;  // cycles
  std::vector<Kind> kinds_;
  Kind* kind_;
  const ReplayDestinations& destinations_;
  std::vector<uint8_t> payload_;
  size_t next_ = 0;
  const WholeFrames* whole_ = nullptr;
  bool whole_to_port_ = true;
  size_t next_whole_ = 0;
  CacheSweep sweep_;
  PacketRing ring_;
  const rte_eth_rxtx_callback* callback_ = nullptr;
};

// What is done to packets sent on one transmit queue before they are freed: nothing, until another
// kind of frames is selected.
class Sink {
 public:
  Sink(uint16_t port, uint16_t queue);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // As Replay::select_frames().
  void select_frames(const ReplayFrames& frames);
  uint64_t sweep_cycles() const { return sweep_.cycles(); }

 private:
  static uint16_t take(uint16_t port, uint16_t queue, rte_mbuf** packets, uint16_t count,
                       void* self);
  uint16_t port_;
  uint16_t queue_;
  bool copied_ = false;
  bool swept_ = false;
  std::vector<uint8_t> frame_;
  CacheSweep sweep_;
  const rte_eth_rxtx_callback* callback_ = nullptr;
};

}  // namespace hecto::bench
