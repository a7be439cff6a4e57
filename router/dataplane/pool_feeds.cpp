#include "router/dataplane/pool_feeds.hpp"

#include <algorithm>

namespace hecto::router {

void PoolFeeds::add(size_t thread, const rte_mempool* pool, bool plain) {
  for (Feed& feed : feeds_[thread]) {
    if (feed.pool != pool) continue;
    feed.plain &= plain;
    return;
  }
  feeds_[thread].push_back({pool, plain});
}

void PoolFeeds::forget(const rte_mempool* pool) {
  for (auto& feeds : feeds_) std::erase_if(feeds, [&](const Feed& f) { return f.pool == pool; });
}

bool PoolFeeds::only(size_t thread, const rte_mempool* pool) const {
  return std::all_of(feeds_[thread].begin(), feeds_[thread].end(),
                     [&](const Feed& feed) { return feed.pool == pool && feed.plain; });
}

}  // namespace hecto::router
