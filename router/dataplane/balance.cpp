#include "router/dataplane/balance.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "router/dataplane/dataplane.hpp"

namespace hecto::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kBetween{50};
constexpr std::chrono::milliseconds kOneTurn{2};  // above those of an idle slow path

struct Incoming {
  uint64_t received = 0, injected = 0, fragments = 0, copies = 0;
  uint64_t sum() const { return received + injected + fragments + copies; }
};

Incoming incoming(const Dataplane& dataplane) {
  Incoming now;
  for (const auto& worker : dataplane.workers())
    for (const PortCounters& port : worker->counters().ports) now.received += port.rx_packets.get();
  now.injected = dataplane.slow_path().injected();
  now.fragments = dataplane.fragments_made();
  now.copies = dataplane.copies_made();
  return now;
}

// What a thread may hold, and whether it does.
class Hand {
 public:
  using Ask = std::function<Turns()>;
  Hand(Ask ask, uint64_t most) : ask_(std::move(ask)), most_(most), began_(ask_()) {}
  void counted() { counted_ = ask_().all; }  // what became of packets has been read
  // Through the turn in which that was; then one that found packets since the beginning is known.
  bool passed() const { return ask_().all > counted_; }
  uint64_t most() const { return passed() && ask_().busy == began_.busy ? 0 : most_; }

 private:
  Ask ask_;
  uint64_t most_;
  Turns began_;
  uint64_t counted_ = 0;
};

std::vector<Hand> hands_of(const Dataplane& dataplane) {
  std::vector<Hand> hands;
  for (const auto& worker : dataplane.workers()) {
    const WorkerView& view = dataplane.snapshot().workers[worker->options().id];
    hands.emplace_back(
        [&worker] { return worker->turns(); },
        kChunkSize * (view.queues.size() + view.handoffs.size() + view.spreads.size() + 2));
  }
  hands.emplace_back([&dataplane] { return dataplane.slow_path().turns(); },
                     kChunkSize * (dataplane.ports().size() + 1));
  return hands;
}

// What they may have held all the while.
uint64_t held(const std::vector<Hand>& hands) {
  const auto until = Clock::now() + kOneTurn;
  while (Clock::now() < until &&
         !std::all_of(hands.begin(), hands.end(), [](const Hand& hand) { return hand.passed(); }))
    std::this_thread::sleep_for(kBetween);
  uint64_t most = 0;
  for (const Hand& hand : hands) most += hand.most();
  return most;
}

}  // namespace

void Balance::weigh(uint64_t queued, uint64_t unseen) {
  const uint64_t in = totals.received + totals.injected + fragments + copies;
  const uint64_t out = totals.transmitted + totals.punted_total() + totals.dropped_total();
  const auto under_way = static_cast<int64_t>(in - out);
  const int64_t rest = under_way - static_cast<int64_t>(queued);
  const bool fits = under_way >= 0 && static_cast<uint64_t>(std::abs(rest)) <= unseen;
  in_flight = fits ? static_cast<uint64_t>(under_way) : queued;
  unaccounted = fits ? 0 : rest;
}

Balance read_balance(const Dataplane& dataplane, std::chrono::microseconds patience) {
  const auto until = Clock::now() + patience;
  for (;;) {
    Balance balance;
    std::vector<Hand> hands = hands_of(dataplane);
    const uint64_t before = incoming(dataplane).sum();
    balance.totals = collect(dataplane);
    const unsigned queued = dataplane.in_flight();
    for (Hand& hand : hands) hand.counted();
    const Incoming behind = incoming(dataplane);
    balance.totals.received = behind.received;
    balance.totals.injected = behind.injected;
    balance.fragments = behind.fragments;
    balance.copies = behind.copies;
    balance.too_big_answered = dataplane.too_big_answered();
    balance.weigh(queued, 0);
    if (balance.unaccounted == 0) return balance;
    if (Clock::now() >= until) {
      balance.weigh(queued, held(hands) + behind.sum() - before);
      return balance;
    }
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace hecto::router
