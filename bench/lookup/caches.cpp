#include "bench/lookup/caches.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <numeric>
#include <random>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr size_t kLine = RTE_CACHE_LINE_SIZE;
constexpr size_t kFrame = 256;  // behind mbuf and headroom

}  // namespace

size_t CacheFlush::default_bytes() {
  // In KB, of the cache that this core sees: sysconf adds up those of other cores on some machines.
  size_t kilobytes = 0;
  std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kilobytes;
  return std::clamp<size_t>(3 * (kilobytes << 10), size_t{64} << 20, size_t{1} << 30);
}

void CacheFlush::flush() {
  // Written as well: dirty lines push out others just as read ones do, and are not shared.
  for (size_t i = 0; i < buffer_.size(); i += kLine) {
    ++buffer_[i];
    asm volatile("" : : "r"(&buffer_[i]) : "memory");
  }
}

PacketLoop::PacketLoop(size_t packets)
    : packets_(static_cast<uint8_t*>(rte_zmalloc("packets", packets * kPacketBytes, kLine))),
      order_(packets) {
  if (packets_ == nullptr) throw std::bad_alloc();
  std::iota(order_.begin(), order_.end(), 0u);
  std::shuffle(order_.begin(), order_.end(), std::mt19937_64(5));
}

PacketLoop::~PacketLoop() {
  rte_free(packets_);
}

void PacketLoop::touch(unsigned n) noexcept {
  static constexpr uint8_t kRewrite[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
  for (unsigned i = 0; i < n; ++i) {
    uint8_t* mbuf = packets_ + size_t{order_[next_]} * kPacketBytes;
    next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    ++mbuf[16];
    std::memcpy(mbuf + kFrame, kRewrite, sizeof kRewrite);
    --mbuf[kFrame + 22];
  }
}

}  // namespace hecto::bench
