// Who takes packets of a queue that another worker polls.
#include <algorithm>

#include "config/placement/placement.hpp"

namespace hecto::config {
namespace {

// With the takers of each of its queues.
template <typename Act>
void for_each_spread(const PortPlacement& port, const Placement& placement, Act act) {
  if (port.spread == SpreadMode::kNever) return;
  std::vector<int> sockets;
  for (const WorkerPlacement& worker : placement.workers) sockets.push_back(worker.socket);
  for (const WorkerPlacement& worker : placement.workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == port.port) act(takers_of(port.spread, port.rx_queues, worker.id, sockets));
}

}  // namespace

std::vector<unsigned> takers_of(SpreadMode mode, size_t queues, unsigned head,
                                const std::vector<int>& sockets) {
  if (mode == SpreadMode::kNever) return {};
  const auto here = std::count(sockets.begin(), sockets.end(), sockets[head]);
  if (mode == SpreadMode::kAuto && queues >= static_cast<size_t>(here)) return {};
  std::vector<unsigned> takers;
  const auto count = static_cast<unsigned>(sockets.size());
  for (unsigned i = 1; i < count && takers.size() < kMostTakers; ++i)
    if (const unsigned worker = (head + i) % count; sockets[worker] == sockets[head])
      takers.push_back(worker);
  return takers;
}

bool takes(const WorkerPlacement& worker, const PortPlacement& port, const Placement& placement) {
  bool taken = false;
  for_each_spread(port, placement, [&](const std::vector<unsigned>& takers) {
    taken |= std::find(takers.begin(), takers.end(), worker.id) != takers.end();
  });
  return taken;
}

size_t spread_rings(const PortPlacement& port, const Placement& placement) {
  size_t rings = 0;
  for_each_spread(port, placement,
                  [&](const std::vector<unsigned>& takers) { rings += takers.size(); });
  return rings;
}

}  // namespace hecto::config
