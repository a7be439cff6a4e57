// Whose mbufs each thread may hold, and so send: those of the pools of the ports that it receives
// from, and of ports that are gone as long as their pool is there. Nothing on a packet's way takes
// another reference, attaches or chains; fragments come from their packet's pool, and what Linux
// sends from that of its twin's port. So this is all that can be promised to a driver.
//
// Pools are named, not touched. Control thread.
#pragma once

#include <cstddef>
#include <vector>

struct rte_mempool;

namespace hecto::router {

class PoolFeeds {
 public:
  explicit PoolFeeds(size_t threads) : feeds_(threads) {}

  // `plain`: direct mbufs with one reference. Once not plain, never again.
  void add(size_t thread, const rte_mempool* pool, bool plain);
  void forget(const rte_mempool* pool);
  // All that the thread may hold is plain and of this pool.
  bool only(size_t thread, const rte_mempool* pool) const;

 private:
  struct Feed {
    const rte_mempool* pool;
    bool plain;
  };
  std::vector<std::vector<Feed>> feeds_;  // by thread
};

}  // namespace hecto::router
