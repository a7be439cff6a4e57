// Dataplane's spreads: queues whose packets go over several workers.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "router/dataplane/dataplane.hpp"

namespace hecto::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestSettling{5};
constexpr std::chrono::microseconds kBetween{20};

}  // namespace

Result<PortSpread> Dataplane::make_spread(const Port& port,
                                          const std::vector<unsigned>& heads) const {
  std::vector<int> sockets;
  for (const auto& worker : workers_) sockets.push_back(worker->options().socket);
  return PortSpread::create(port.name(), port.id(), port.config().spread, heads, sockets);
}

bool Dataplane::spread(const std::string& port, QueueId queue, const SpreadCosts& costs) {
  const auto found = spreads_.find(port);
  if (found == spreads_.end() || !found->second.waits(queue)) return false;
  found->second.begin(queue, costs);
  publish();
  settle(found->second.head(queue));
  found->second.drain(queue);
  publish();
  return true;
}

// Until all that the worker held before the newest snapshot is on its way, also what it handed over
// to transmit queues of others; not longer than 5 ms, in which rings that nobody drains may fill.
void Dataplane::settle(unsigned worker) {
  const auto until = Clock::now() + kLongestSettling;
  const auto wait = [&](const auto& done) {
    while (!done() && Clock::now() < until) std::this_thread::sleep_for(kBetween);
  };
  const auto pass = [&] {
    wait([this, token = tables_.qsbr().start()] { return tables_.qsbr().passed(token); });
  };
  pass();
  std::vector<std::pair<const rte_ring*, uint32_t>> handed;  // up to where
  for (const auto& [name, handoffs] : handoffs_)
    for (const Handoff& handoff : handoffs)
      if (handoff.thread == worker)
        handed.emplace_back(handoff.ring.get(), handoff.ring->prod.tail);
  for (const auto& [ring, last] : handed)
    wait([&] { return static_cast<int32_t>(ring->cons.tail - last) >= 0; });
  pass();
}

}  // namespace hecto::router
