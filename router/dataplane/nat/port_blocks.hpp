// One worker's blocks of ports of a pool: which host has them, and which ports of them are used, for
// TCP, UDP and ICMP's ids each. A host has blocks of one outside address only (RFC 4787 REQ-2,
// "paired"; RFC 6888 REQ-2), so many at most.
//
// One thread; control reads the counters and takes the events.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "base/reason.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/nat/bucket_index.hpp"
#include "router/dataplane/nat/ipv4_packet.hpp"
#include "router/dataplane/nat/layout.hpp"

namespace hecto::router::nat {

// A block that a host got or gave back, for the log.
struct BlockEvent {
  uint32_t host = 0;   // as load32_native gives it
  uint32_t block = 0;  // of the pool
  bool given = false;  // else taken back
};

// From a worker to control. Full: they are counted, and lost.
class BlockEvents {
 public:
  void add(const BlockEvent& event) noexcept {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == events_.size()) {
      lost_.add(1);
      return;
    }
    events_[head % events_.size()] = event;
    head_.store(head + 1, std::memory_order_release);
  }
  std::optional<BlockEvent> take() noexcept {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return std::nullopt;
    const BlockEvent event = events_[tail % events_.size()];
    tail_.store(tail + 1, std::memory_order_release);
    return event;
  }
  uint64_t lost() const noexcept { return lost_.get(); }

 private:
  std::array<BlockEvent, 4096> events_;
  std::atomic<uint32_t> head_{0}, tail_{0};
  Counter lost_;
};

struct HostLimits {
  uint32_t sessions = 0;
  uint16_t blocks = 0;
};

class PortBlocks {
 public:
  bool create(const Layout& layout, uint32_t worker, const uint64_t (&secret)[2],
              lookup::Memory& memory, int socket) noexcept;
  uint64_t bytes() const noexcept;

  struct Port {
    uint32_t host = kNobody;   // of the hosts
    uint32_t block = kNobody;  // of this worker's
    uint32_t address = 0;      // place in the pool
    uint16_t port = 0;         // host order
  };
  // A free port for the host, which gets a block for it where it needs one.
  Reason take(uint32_t host_address, Kind kind, const HostLimits& limits, uint64_t random,
              Port& taken) noexcept;
  void give_back(uint32_t host, uint32_t block, uint16_t port, Kind kind) noexcept;

  uint32_t blocks() const noexcept { return static_cast<uint32_t>(count_); }
  uint64_t used_blocks() const noexcept { return used_blocks_.get(); }
  uint64_t hosts() const noexcept { return hosts_used_.get(); }
  BlockEvents& events() noexcept { return events_; }

 private:
  struct Block {
    uint32_t host;  // kNobody: nobody's
    uint32_t next;  // of its host's, or of its address's free ones
    uint32_t used;  // ports, of all kinds
  };
  struct Host {
    uint32_t address;
    uint32_t place;  // of its outside address in the pool
    uint32_t first;  // of its blocks
    uint32_t sessions;
    uint32_t blocks;
    uint32_t next;  // of free ones
  };
  uint64_t* bits(uint32_t block, Kind kind) noexcept {
    return &bits_[(uint64_t{block} * kSessionKinds + static_cast<unsigned>(kind)) * words_];
  }
  uint32_t pool_block(uint32_t block) const noexcept {
    return block * layout_.workers.divisor() + worker_;
  }
  std::optional<uint32_t> free_bit(uint32_t block, Kind kind, uint64_t random) noexcept;
  uint32_t new_host(uint32_t address) noexcept;
  uint32_t add_block(uint32_t host) noexcept;
  void drop_block(Host& host, uint32_t host_number, uint32_t block) noexcept;

  Layout layout_;
  uint32_t worker_ = 0, words_ = 0;
  uint64_t secret_[2] = {};
  uint64_t count_ = 0;
  FixedArray<Block> blocks_;
  FixedArray<uint64_t> bits_;
  FixedArray<Host> hosts_;
  FixedArray<uint32_t> free_of_;  // by place of an address: its first free block
  BucketIndex host_index_;
  uint32_t free_host_ = kNobody;
  Counter used_blocks_, hosts_used_;
  BlockEvents events_;
};

}  // namespace hecto::router::nat
