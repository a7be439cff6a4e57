// What a router does to caches besides looking up: nothing, all of it, or the packets' own lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hecto::bench {

// Reads several times the last-level cache, so that nothing else is left in any.
class CacheFlush {
 public:
  explicit CacheFlush(size_t bytes) : buffer_(bytes, 1) {}
  static size_t default_bytes();  // three times the last level, 64 MB to 1 GB
  size_t bytes() const { return buffer_.size(); }
  void flush();

 private:
  std::vector<uint8_t> buffer_;
};

// Packets in DPDK's memory, mbuf and frame, in the order of a mempool that has been in use for a
// while: random. A forwarding loop reads and writes one line of each.
class PacketLoop {
 public:
  static constexpr size_t kPacketBytes = 2048 + 128 + 128;  // mbuf, headroom, data room
  explicit PacketLoop(size_t packets);                      // throws std::bad_alloc
  ~PacketLoop();
  PacketLoop(const PacketLoop&) = delete;
  PacketLoop& operator=(const PacketLoop&) = delete;

  // The next n packets: length and port in the mbuf, MAC addresses and TTL in the frame.
  void touch(unsigned n) noexcept;

 private:
  uint8_t* packets_;
  std::vector<uint32_t> order_;
  size_t next_ = 0;
};

}  // namespace hecto::bench
