// How fast a table changes, alone and while others look up.
#pragma once

#include <sched.h>

#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "bench/lookup/engine.hpp"
#include "bench/lookup/hecto_engine.hpp"

namespace hecto::bench {

struct UpdateRate {
  uint64_t changes = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of this thread
};

// `count` times a route in random order: half of the times its group is replaced by the next one
// (`routes` is kept up to date), half of the times it goes and comes back, which are two changes.
// publish() after each 64 changes. The same seed makes the same changes.
template <typename Family>
Result<UpdateRate> change_routes(Engine<Family>& engine, std::vector<Route<Family>>& routes,
                                 unsigned count, unsigned next_hops, uint64_t seed);

// Threads that look up without pause from the constructor's end on, and report a quiescent state
// after each batch, on `cpus`.
template <typename Family>
class Readers {
 public:
  Readers(HectoEngine<Family>& engine, std::span<const typename Family::Destination> destinations,
          unsigned count, unsigned batch, const cpu_set_t& cpus);
  ~Readers() { stop(); }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  uint64_t looked_up() const { return looked_up_; }  // by all of them until now
  void stop();                                       // waits for the threads

 private:
  void read(unsigned thread);

  HectoEngine<Family>& engine_;
  std::span<const typename Family::Destination> destinations_;
  unsigned batch_;
  cpu_set_t cpus_;
  std::atomic<unsigned> reading_{0};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> looked_up_{0};
  std::vector<std::thread> threads_;
};

}  // namespace hecto::bench
