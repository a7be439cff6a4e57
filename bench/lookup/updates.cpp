#include "bench/lookup/updates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "bench/lib/stopwatch.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using lookup::GroupId;

constexpr unsigned kChangesPerPublish = 64;

}  // namespace

template <typename Family>
Result<UpdateRate> change_routes(Engine<Family>& engine, std::vector<Route<Family>>& routes,
                                 unsigned count, unsigned next_hops, uint64_t seed) {
  std::mt19937_64 random(seed);
  UpdateRate rate;
  uint64_t published = 0;
  const Stopwatch stopwatch;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t number = random();
    Route<Family>& route = routes[(number >> 1) % routes.size()];
    bool done;
    if ((number & 1) != 0) {
      route.group = static_cast<GroupId>(1 + route.group % next_hops);
      done = engine.add(route.prefix, route.group);
      rate.changes += 1;
    } else {
      done = engine.remove(route.prefix) && engine.add(route.prefix, route.group);
      rate.changes += 2;
    }
    if (!done)
      return fail(fmt::format("change {} was refused, of {}", i, route.prefix.to_string()));
    if (rate.changes - published < kChangesPerPublish) continue;
    engine.publish();
    published = rate.changes;
  }
  engine.publish();
  rate.seconds = stopwatch.seconds();
  rate.cpu_seconds = stopwatch.cpu_seconds();
  return rate;
}

template <typename Family>
Readers<Family>::Readers(HectoEngine<Family>& engine,
                         std::span<const typename Family::Destination> destinations, unsigned count,
                         unsigned batch, const cpu_set_t& cpus)
    : engine_(engine), destinations_(destinations), batch_(batch), cpus_(cpus) {
  for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { read(i); });
  // Asleep, so that readers get started where the writer has a real-time priority.
  while (reading_ < count) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

template <typename Family>
void Readers<Family>::read(unsigned thread) {
  pthread_setaffinity_np(pthread_self(), sizeof cpus_, &cpus_);
  // They share CPUs: under a real-time policy the first would keep the others out.
  const sched_param ordinary{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
  rte_rcu_qsbr* qsbr = engine_.readers().get();
  rte_rcu_qsbr_thread_register(qsbr, thread);
  rte_rcu_qsbr_thread_online(qsbr, thread);
  ++reading_;
  std::vector<GroupId> groups(batch_);
  for (size_t i = 0; !stop_.load(std::memory_order_relaxed); i += batch_) {
    if (i >= destinations_.size()) i = 0;
    const size_t n = std::min<size_t>(batch_, destinations_.size() - i);
    lookup::lookup_batch(engine_.view(), &destinations_[i], groups.data(), n);
    rte_rcu_qsbr_quiescent(qsbr, thread);
    looked_up_.fetch_add(n, std::memory_order_relaxed);
  }
  rte_rcu_qsbr_thread_offline(qsbr, thread);
  rte_rcu_qsbr_thread_unregister(qsbr, thread);
}

template <typename Family>
void Readers<Family>::stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

template Result<UpdateRate> change_routes(Engine<Ipv4>&, std::vector<Route<Ipv4>>&, unsigned,
                                          unsigned, uint64_t);
template Result<UpdateRate> change_routes(Engine<Ipv6>&, std::vector<Route<Ipv6>>&, unsigned,
                                          unsigned, uint64_t);
template class Readers<Ipv4>;
template class Readers<Ipv6>;

}  // namespace hecto::bench
