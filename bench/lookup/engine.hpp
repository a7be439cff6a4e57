// What is compared: one table and its look-up function. Ours and those of DPDK, each set up as its
// users would.
//
//   IPv4  hecto, rte_fib, rte_fib_avx512 (DIR24_8), rte_lpm (lookupx4)
//   IPv6  hecto, rte_fib6, rte_fib6_avx512 (TRIE), rte_lpm6
//
// rte_fib and rte_fib6 get entries of 2 bytes where these hold the table, else of 4.
//
// Needs a running EAL. An engine is one thread's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/lib/family.hpp"

namespace hecto::bench {

// What an engine has to have room for.
struct EngineSize {
  uint32_t routes;
  uint32_t extension_nodes;  // see bench/lib/reference.hpp
  uint32_t reserved_nodes;
  uint32_t changes;  // routes that will come and go
  unsigned batch;    // most destinations of one look-up
};

template <typename Family>
class Engine {
 public:
  using Prefix = typename Family::Prefix;
  using Destination = typename Family::Destination;

  virtual ~Engine() = default;
  // Adds the prefix or replaces its group. False where the engine refuses.
  virtual bool add(const Prefix& prefix, lookup::GroupId group) = 0;
  virtual bool remove(const Prefix& prefix) = 0;
  virtual void publish() {}
  // n up to EngineSize::batch; the answers stay in a buffer of the engine's, in its own form.
  virtual void lookup(const Destination* destinations, unsigned n) noexcept = 0;
  // Answer number i of the last look-up.
  virtual lookup::GroupId group(unsigned i) const noexcept = 0;
  // What look-ups read, without the routes beside it. Ours: all that it set up; DPDK's: root and
  // the nodes that the table fills, without room to spare.
  virtual uint64_t bytes() const = 0;
  // Of its tables' entries; 0: they have no size of their own (ours).
  virtual unsigned entry_bytes() const { return 0; }
};

// Ours first.
template <typename Family>
const std::vector<std::string>& engine_names();
template <>
const std::vector<std::string>& engine_names<Ipv4>();
template <>
const std::vector<std::string>& engine_names<Ipv6>();

// `name`: one of engine_names(). error_number ENOTSUP: not on this machine or with this DPDK.
template <typename Family>
Result<std::unique_ptr<Engine<Family>>> make_engine(const std::string& name,
                                                    const EngineSize& size);
template <>
Result<std::unique_ptr<Engine<Ipv4>>> make_engine<Ipv4>(const std::string&, const EngineSize&);
template <>
Result<std::unique_ptr<Engine<Ipv6>>> make_engine<Ipv6>(const std::string&, const EngineSize&);

// What an engine's look-up function needs of the CPU is there, whatever DPDK thinks of it.
bool cpu_runs(const std::string& name);

}  // namespace hecto::bench
