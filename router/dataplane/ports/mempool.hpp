// Packet buffers, preallocated per NUMA socket and data room. Running out is a drop that the port
// counts (`no_mbuf`), never a stop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

struct rte_mempool;

namespace hecto::router {

// The largest with which header, mbuf and data room stay within a page of 4 KiB, as AF_XDP wants.
inline constexpr uint32_t kPageDataRoom = 3840;

class Mempool {
 public:
  // What create takes of ordinary pages.
  static uint64_t ordinary_page_bytes(uint32_t mbufs, uint32_t data_room_bytes);
  // At least `mbufs` of at least `data_room_bytes`.
  static Result<std::unique_ptr<Mempool>> create(const std::string& name, int socket,
                                                 uint32_t mbufs, uint32_t data_room_bytes);
  ~Mempool();
  Mempool(const Mempool&) = delete;
  Mempool& operator=(const Mempool&) = delete;

  rte_mempool* get() const { return pool_; }
  int socket() const { return socket_; }
  uint32_t size() const { return size_; }
  uint32_t data_room_bytes() const { return data_room_bytes_; }
  uint32_t in_use() const;
  const std::string& name() const { return name_; }

 private:
  Mempool() = default;
  void set_aside_last();
  rte_mempool* pool_ = nullptr;
  std::string name_;
  int socket_ = 0;
  uint32_t size_ = 0;  // without those set aside
  uint32_t set_aside_ = 0;
  uint32_t data_room_bytes_ = 0;
};

}  // namespace hecto::router
