// How a pool's addresses and ports are cut into blocks, and which worker has which: the blocks go
// round the workers, so that an address and a port name the worker whose mapping they are. No
// worker reads another's.
#pragma once

#include <cstdint>

namespace hecto::router::nat {

__extension__ using Wide = unsigned __int128;

// Remainders by a divisor that stays (Lemire, Kaser and Kurz 2019).
class Remainder {
 public:
  explicit Remainder(uint32_t divisor) noexcept
      : divisor_(divisor), inverse_(~uint64_t{0} / divisor + 1) {}
  uint32_t of(uint32_t number) const noexcept {
    if (divisor_ == 1) return 0;
    return static_cast<uint32_t>(static_cast<Wide>(inverse_ * number) * divisor_ >> 64);
  }
  uint32_t divisor() const noexcept { return divisor_; }

 private:
  uint32_t divisor_;
  uint64_t inverse_;
};

struct Layout {
  uint32_t addresses = 0;  // by place in the pool
  uint16_t first_port = 0;
  uint32_t block_shift = 0;  // log2 of a block's ports
  uint32_t blocks_per_address = 0;
  Remainder workers{1};
  uint32_t seed = 0;  // which worker has a host

  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t blocks() const noexcept { return addresses * blocks_per_address; }
  // Of a port in host order; kNone: it is in none.
  uint32_t block(uint32_t address, uint16_t port) const noexcept {
    const uint32_t at = static_cast<uint32_t>(port - first_port) >> block_shift;
    return port < first_port || at >= blocks_per_address ? kNone
                                                         : address * blocks_per_address + at;
  }
  uint32_t worker_of_block(uint32_t block) const noexcept { return workers.of(block); }
  // Blocks of one worker are numbered without gaps: block = number * workers + worker.
  uint32_t blocks_of(uint32_t worker) const noexcept {
    const uint32_t all = blocks(), each = workers.divisor();
    return all <= worker ? 0 : (all - worker + each - 1) / each;
  }
  // Of an address as load32_native gives it, inside, or of anything else that is to stay together.
  uint32_t worker_of_host(uint32_t address) const noexcept {
    if (workers.divisor() == 1) return 0;
    uint64_t mixed = (uint64_t{address} ^ seed) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    mixed *= 0xd6e8feb86659fd93u;
    return workers.of(static_cast<uint32_t>(mixed >> 32));
  }
};

}  // namespace hecto::router::nat
