#include "router/dataplane/transmit_queues.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace hecto::router {

std::vector<TransmitShare> share_transmit_queues(unsigned queues,
                                                 const std::vector<TransmitThread>& threads,
                                                 int socket) {
  const auto slow_path = static_cast<unsigned>(threads.size() - 1);
  std::vector<unsigned> order(threads.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto rank = [&](unsigned i) {
    return std::tuple(i == slow_path, !threads[i].receives, threads[i].socket != socket, i);
  };
  std::sort(order.begin(), order.end(),
            [&](unsigned left, unsigned right) { return rank(left) < rank(right); });
  const size_t own = std::min<size_t>(queues, order.size());
  std::vector<unsigned> owners(order.begin(), order.begin() + static_cast<ptrdiff_t>(own));
  std::sort(owners.begin(), owners.end());

  std::vector<TransmitShare> shares(threads.size());
  for (size_t queue = 0; queue < owners.size(); ++queue)
    shares[owners[queue]].queue = QueueId(queue);
  std::vector<unsigned> handed(owners.size(), 0);
  for (size_t i = own; i < order.size(); ++i) {
    const auto cost = [&](size_t queue) {
      return std::tuple(threads[owners[queue]].socket != threads[order[i]].socket, handed[queue]);
    };
    size_t best = 0;
    for (size_t queue = 1; queue < owners.size(); ++queue)
      if (cost(queue) < cost(best)) best = queue;
    ++handed[best];
    shares[order[i]] = {QueueId(best), owners[best]};
  }
  return shares;
}

}  // namespace hecto::router
