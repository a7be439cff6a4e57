// Packets at the very end of what may be read: behind the last byte nothing is mapped.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/filter/judge.hpp"

namespace hecto::router::test {

class EdgePackets {
 public:
  static constexpr size_t kRoom = 4096;
  EdgePackets() : mbufs_(kChunkSize) {
    memory_ = static_cast<uint8_t*>(mmap(nullptr, 2 * kRoom * kChunkSize, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (unsigned i = 0; i < kChunkSize; ++i) {
      if (mprotect(memory_ + (2 * i + 1) * kRoom, kRoom, PROT_NONE) != 0) std::abort();
      packets_[i] = &mbufs_[i];
    }
  }
  ~EdgePackets() { munmap(memory_, 2 * kRoom * kChunkSize); }

  // The first `there` bytes of it, behind an Ethernet header.
  void put(unsigned i, const std::vector<uint8_t>& ip, size_t there, InterfaceId interface) {
    const size_t bytes = 14 + there;
    uint8_t* const at = memory_ + (2 * i + 1) * kRoom - bytes;
    std::memset(at, 0, 14);
    std::memcpy(at + 14, ip.data(), there);
    rte_mbuf& mbuf = mbufs_[i];
    mbuf.buf_addr = memory_ + 2 * i * kRoom;
    mbuf.data_off = static_cast<uint16_t>(kRoom - bytes);
    mbuf.nb_segs = 1;
    mbuf.data_len = static_cast<uint16_t>(bytes);
    mbuf.pkt_len = mbuf.data_len;
    mbuf.ol_flags = 0;
    ingress_[i] = {interface, 14};
  }
  rte_mbuf* const* packets() const { return packets_; }
  const Ingress* ingress() const { return ingress_; }

 private:
  std::vector<rte_mbuf> mbufs_;
  uint8_t* memory_;
  rte_mbuf* packets_[kChunkSize];
  Ingress ingress_[kChunkSize];
};

// Ports p0, p1, p2 with those numbers; VRF red has p1 and p2.
inline FilterSurroundings three_ports() {
  FilterSurroundings around;
  around.interface = [](const std::string& name) {
    return name == "p0"   ? InterfaceId(0)
           : name == "p1" ? InterfaceId(1)
           : name == "p2" ? InterfaceId(2)
                          : kNoInterface;
  };
  around.members = [](const std::string& vrf) {
    return vrf == "red" ? std::vector<InterfaceId>{1, 2} : std::vector<InterfaceId>();
  };
  around.threads = 2;
  return around;
}

}  // namespace hecto::router::test
