// What lies between a NIC's DMA and the core that receives: thousands of packets, written long
// before they are taken, in mbufs of all corners of the pool. A port of memory that fills the mbufs
// that were freed last keeps all it touches in the first-level cache, which no NIC does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/bed/copies.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace hecto::bench {

// Where a packet's mbuf and headers lie when it is received: as the mbufs freed last (no ring); in
// the second-level cache, as with a NIC of 4,096 descriptors; beyond it, where DDIO puts them.
enum class PacketCache : uint8_t { kL1, kL2, kL3 };
std::string_view to_string(PacketCache cache);
PacketCache cache_by_name(std::string_view name);  // l1, l2, l3

// Packets of a ring whose lines (two of the mbuf, one of the headers) come from there; 0: none.
unsigned ring_packets(PacketCache cache, const CacheSizes& sizes);
// What the ring of the level does not do on this CPU, in words; empty: nothing.
std::string_view ring_note(PacketCache cache, const CacheSizes& sizes);

class PacketRing {
 public:
  PacketRing() = default;
  ~PacketRing() { release(); }
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;

  // A power of two many of the pool, or none; throws where the pool has not so many.
  void resize(rte_mempool* pool, unsigned packets);
  bool empty() const { return slots_.empty(); }
  // Puts these in, and instead of them those that came in longest ago, with what a driver writes
  // into an mbuf from its descriptor.
  void exchange(rte_mbuf** packets, uint16_t count) noexcept;
  // Writes all packets anew, in the order in which they will be taken: write(packets, count).
  template <typename Write>
  void rewrite(Write write);

 private:
  static constexpr uint16_t kBatch = 64;
  struct Slot {
    rte_mbuf* packet;
    uint16_t bytes;
  };
  void release();
  void read_batch(size_t from, rte_mbuf** packets) const;
  void take_lengths(size_t from);

  std::vector<Slot> slots_;
  size_t next_ = 0;
};

template <typename Write>
void PacketRing::rewrite(Write write) {
  rte_mbuf* packets[kBatch];
  for (size_t i = 0; i < slots_.size(); i += kBatch) {
    read_batch(i, packets);
    write(packets, kBatch);
    take_lengths(i);
  }
}

}  // namespace hecto::bench
