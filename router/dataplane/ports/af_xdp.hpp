// The AF_XDP sockets of a port, which DPDK's net_af_xdp keeps to itself: what they lost, and, when
// the port goes, what the driver forgets. The driver of 22.11 leaves the sockets open, so that the
// interface's queue stays taken, and the mbufs in their rings in use.
//
// Control thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct rte_mempool;

namespace hecto::router {

struct AfXdpSocket {
  int fd = -1;
  uint64_t inode = 0;  // the number may be another file's by now
  bool operator==(const AfXdpSocket&) const = default;
};

std::vector<AfXdpSocket> af_xdp_sockets();  // all of this process

class AfXdpSockets {
 public:
  // Those that were made since `before`. Their rings are mapped now: the kernel refuses to once
  // the interface has gone.
  explicit AfXdpSockets(const std::vector<AfXdpSocket>& before);
  ~AfXdpSockets();
  AfXdpSockets(const AfXdpSockets&) = delete;
  AfXdpSockets& operator=(const AfXdpSockets&) = delete;

  // Packets that the kernel had for them and could not put into them: no room, no buffer.
  uint64_t missed() const noexcept;

  // After the driver's close, when nobody polls any more: closes what is still open and frees the
  // mbufs of the rings. Returns how many were in the kernel's own hands and are lost: those of a
  // NIC's ring in zero-copy mode, else next to none. `pool` is the sockets' UMEM. `reopens`: returns
  // when the kernel takes other sockets for these queues, some 40 ms later.
  uint32_t release(rte_mempool* pool, bool reopens);

 private:
  struct Ring {
    uint8_t* memory = nullptr;
    size_t bytes = 0;
    uint32_t size = 0;                                     // descriptors, a power of two
    uint64_t producer = 0, consumer = 0, descriptors = 0;  // offsets in bytes
    uint32_t produced() const noexcept;
    uint32_t consumed() const noexcept;
  };
  struct Rings {
    Ring receive, transmit, fill, completion;
  };

  static Rings map(int fd);
  static void unmap(Rings& rings);
  void collect(const Ring& ring, size_t descriptor_bytes);
  void wait_for_completions() const;

  std::vector<AfXdpSocket> sockets_;
  std::vector<Rings> rings_;
  std::vector<uint64_t> addresses_;  // in the UMEM
};

}  // namespace hecto::router
