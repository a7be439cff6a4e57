#include "router/ports/mempool.hpp"

#include <fmt/format.h>

#include "router/dpdk.hpp"
#include "router/ports/eal.hpp"

namespace hecto::router {

Result<std::unique_ptr<Mempool>> Mempool::create(const std::string& name, int socket,
                                                 uint32_t mbufs, uint32_t data_room_bytes) {
  std::unique_ptr<Mempool> pool(new Mempool);
  const unsigned cache = mbufs >= 4096 ? RTE_MEMPOOL_CACHE_MAX_SIZE : 0;
  // With ordinary pages DPDK knows one socket only.
  const int where = rte_eal_has_hugepages() ? socket : SOCKET_ID_ANY;
  pool->pool_ = rte_pktmbuf_pool_create(name.c_str(), mbufs, cache, 0,
                                        static_cast<uint16_t>(data_room_bytes), where);
  if (pool->pool_ == nullptr) {
    const int code = rte_errno;
    return fail(fmt::format("mempool {}: no memory for {} mbufs of {} bytes on socket {} ({}); "
                            "reserve hugepages there or use fewer descriptors",
                            name, mbufs, data_room_bytes, socket, rte_strerror(code)),
                code);
  }
  pool->name_ = name;
  pool->socket_ = socket;
  pool->size_ = mbufs;
  pool->data_room_bytes_ = data_room_bytes;
  return pool;
}

Mempool::~Mempool() {
  if (pool_ != nullptr) rte_mempool_free(pool_);
}

uint32_t Mempool::in_use() const {
  return rte_mempool_in_use_count(pool_);
}

}  // namespace hecto::router
