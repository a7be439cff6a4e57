// Dataplane's spreads: queues whose packets go over several workers.
#include <spdlog/spdlog.h>

#include <chrono>
#include <thread>
#include <vector>

#include "router/dataplane/dataplane.hpp"

namespace hecto::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpreadPoll{20};

}  // namespace

Result<PortSpread> Dataplane::make_spread(const Port& port,
                                          const std::vector<unsigned>& heads) const {
  std::vector<int> sockets;
  for (const auto& worker : workers_) sockets.push_back(worker->options().socket);
  return PortSpread::create(port.name(), port.id(), port.config().spread, heads, sockets);
}

// Both snapshots are there before the first is published: between the two nobody drains the rings.
bool Dataplane::spread(const std::string& port, QueueId queue, const SpreadCosts& costs) {
  const auto found = spreads_.find(port);
  if (found == spreads_.end()) return false;
  PortSpread& spread = found->second;
  if (!spread.waits(queue) || !spread.begin(queue, costs)) return false;
  std::unique_ptr<Snapshot> filling = build();
  spread.drain(queue);
  std::unique_ptr<Snapshot> draining = build();
  install(std::move(filling));
  const bool settled = settle(spread.head(queue), [&] { return spread.half_full(queue); });
  install(std::move(draining));
  if (!settled)
    spdlog::warn(
        "port {}: queue {}: packets of a flow may have left out of order as its spread began: not "
        "all threads had let go of what came before in time",
        port, queue.value());
  return true;
}

// Until all that the worker held before the newest snapshot is on its way, also what it handed over
// to transmit queues of others. False: not in time, or `full` of what waits meanwhile.
bool Dataplane::settle(unsigned worker, const std::function<bool()>& full) {
  const auto until = Clock::now() + options_.longest_settling;
  const auto wait = [&](const auto& done) {
    while (!done()) {
      if (full() || Clock::now() >= until) return false;
      std::this_thread::sleep_for(kSpreadPoll);
    }
    return true;
  };
  const auto pass = [&] {
    return wait([this, token = tables_.qsbr().start()] { return tables_.qsbr().passed(token); });
  };
  if (!pass()) return false;
  std::vector<std::pair<const rte_ring*, uint32_t>> handed;  // up to where
  for (const auto& [name, handoffs] : handoffs_)
    for (const Handoff& handoff : handoffs)
      if (handoff.thread == worker)
        handed.emplace_back(handoff.ring.get(), handoff.ring->prod.tail);
  for (const auto& mark : handed) {
    const auto taken = [&mark] {
      return static_cast<int32_t>(mark.first->cons.tail - mark.second) >= 0;
    };
    if (!wait(taken)) return false;
  }
  return handed.empty() || pass();
}

}  // namespace hecto::router
