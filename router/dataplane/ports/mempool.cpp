#include "router/dataplane/ports/mempool.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::router {
namespace {

constexpr uint64_t kHugepage_bytes = 2ull << 20;  // the smallest
constexpr uint32_t kObjectHeader_bytes = 64;      // rte_mempool's, with its cache alignment

// No object crosses a page, so objects lie further apart than they are long. net_af_xdp makes
// as many bytes known to the kernel as the objects are long together: the last ones lie behind, and
// the kernel throws away what is sent or received in them. These are not given out.
struct Layout {
  uint32_t data_room_bytes;
  uint32_t mbufs;
  bool set_aside;  // those that lie behind
};

Layout lay_out(uint32_t mbufs, uint32_t data_room_bytes, bool hugepages) {
  const auto small_page = static_cast<uint64_t>(getpagesize());
  if (data_room_bytes > kPageDataRoom) return {data_room_bytes, mbufs, false};  // none of AF_XDP's
  // With one object a page it may as well fill it, and few lie behind.
  const uint32_t room = hugepages ? data_room_bytes : kPageDataRoom;
  const uint64_t page = hugepages ? kHugepage_bytes : small_page;
  const uint64_t object = kObjectHeader_bytes + sizeof(rte_mbuf) + room;
  const uint64_t packed = page / object * object;
  return {room, static_cast<uint32_t>((mbufs * page + packed - 1) / packed + page / object), true};
}

// Where DPDK works with physical addresses each hugepage is a chunk, next to the one before.
bool in_one_piece(const rte_mempool* pool) {
  const rte_mempool_memhdr* memory = STAILQ_FIRST(&pool->mem_list);
  const void* end = memory->addr;
  STAILQ_FOREACH(memory, &pool->mem_list, next) {
    if (memory->addr != end) return false;
    end = static_cast<const char*>(memory->addr) + memory->len;
  }
  return true;
}

}  // namespace

uint64_t Mempool::ordinary_page_bytes(uint32_t mbufs, uint32_t data_room_bytes) {
  const auto page = static_cast<uint64_t>(getpagesize());
  const Layout layout = lay_out(mbufs, data_room_bytes, false);
  const uint64_t object = kObjectHeader_bytes + sizeof(rte_mbuf) + layout.data_room_bytes;
  return layout.mbufs * ((object + page - 1) / page * page + sizeof(void*));
}

Result<std::unique_ptr<Mempool>> Mempool::create(const std::string& name, int socket,
                                                 uint32_t mbufs, uint32_t data_room_bytes) {
  std::unique_ptr<Mempool> pool(new Mempool);
  const unsigned cache = mbufs >= 4096 ? RTE_MEMPOOL_CACHE_MAX_SIZE : 0;
  // With ordinary pages DPDK knows one socket only.
  const int where = rte_eal_has_hugepages() ? socket : SOCKET_ID_ANY;
  const Layout layout = lay_out(mbufs, data_room_bytes, rte_eal_has_hugepages());
  pool->pool_ = rte_pktmbuf_pool_create(name.c_str(), layout.mbufs, cache, 0,
                                        static_cast<uint16_t>(layout.data_room_bytes), where);
  if (pool->pool_ == nullptr) {
    const int code = rte_errno;
    return fail(fmt::format("mempool {}: no memory for {} mbufs of {} bytes on socket {} ({}); "
                            "reserve hugepages there or use fewer descriptors",
                            name, mbufs, data_room_bytes, socket, rte_strerror(code)),
                code);
  }
  pool->name_ = name;
  pool->socket_ = socket;
  pool->data_room_bytes_ = data_room_bytes;
  if (layout.set_aside) pool->set_aside_last();
  pool->size_ = layout.mbufs - pool->set_aside_;
  return pool;
}

void Mempool::set_aside_last() {
  if (!in_one_piece(pool_)) return;  // net_af_xdp cannot reach it all, and others need none
  const rte_mempool_memhdr* memory = STAILQ_FIRST(&pool_->mem_list);
  const uint64_t object = rte_mempool_calc_obj_size(pool_->elt_size, pool_->flags, nullptr);
  const auto first = reinterpret_cast<uintptr_t>(memory->addr);
  const uintptr_t end = first + pool_->populated_size * object;
  std::vector<void*> mbufs(pool_->populated_size);
  const auto count = static_cast<unsigned>(mbufs.size());
  if (rte_mempool_generic_get(pool_, mbufs.data(), count, nullptr) != 0) return;
  const auto behind = std::stable_partition(mbufs.begin(), mbufs.end(), [&](const void* mbuf) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(mbuf) - pool_->header_size;
    return at >= first && at + object <= end;
  });
  set_aside_ = static_cast<uint32_t>(mbufs.end() - behind);
  rte_mempool_generic_put(pool_, mbufs.data(), count - set_aside_, nullptr);
}

Mempool::~Mempool() {
  if (pool_ != nullptr) rte_mempool_free(pool_);
}

uint32_t Mempool::in_use() const {
  return rte_mempool_in_use_count(pool_) - set_aside_;
}

}  // namespace hecto::router
