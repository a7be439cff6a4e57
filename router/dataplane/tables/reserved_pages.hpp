// Hugepages that were reserved in the kernel (hugetlb), for tables where transparent ones are off: a
// look-up into pages of 4 KiB misses the TLB at nearly each line. Only those that DPDK does not want.
//
// Control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace hecto::router {

class ReservedPages {
 public:
  static constexpr size_t kPageBytes = 2 << 20;
  // The process's: `transparent` as the kernel says.
  static ReservedPages& of_process();
  // `transparent`: ordinary memory is given in huge pages, and none is taken here.
  explicit ReservedPages(bool transparent) : transparent_(transparent) {}
  ReservedPages(const ReservedPages&) = delete;
  ReservedPages& operator=(const ReservedPages&) = delete;

  // What there is for tables, by socket.
  void spare(std::map<int, uint64_t> bytes) { spare_ = std::move(bytes); }
  // Zeroed, on the socket. Null: there are not so many to spare, or none is wanted.
  void* allocate(size_t bytes, int socket) noexcept;
  bool release(void* block) noexcept;  // false: it is not of these

  // Blocks that had to do with small pages.
  void count_small(size_t bytes, bool taken) noexcept;
  uint64_t small_bytes() const { return small_bytes_; }

 private:
  struct Block {
    size_t bytes;
    int socket;
  };
  bool transparent_;
  std::map<int, uint64_t> spare_;
  std::map<void*, Block> blocks_;
  uint64_t small_bytes_ = 0;
};

// Pages of 2 MiB that are free on a socket.
uint64_t free_reserved_bytes(int socket);

}  // namespace hecto::router
