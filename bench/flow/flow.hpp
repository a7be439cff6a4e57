// `hecto-bench flow`: the flow table. Alone, beside rte_hash and rte_acl: look-ups of keys that are there, one core,
// engines in turn, medians. Or what an entry costs a packet: the whole worker with the table on and off, in turn.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/dataplane/filter/key.hpp"

namespace hecto::bench {

struct FlowBenchOptions {
  std::string mode = "tables";                          // or packets
  std::vector<uint32_t> entries = {32'768, 1'048'576};  // exact
  std::vector<uint32_t> masks = {1, 4, 16};             // of wildcard entries
  uint32_t wildcards = 1'000;                           // entries, over all masks
  unsigned rounds = 15;
  unsigned round_ms = 100;
  unsigned memory_mb = 1'500;  // of DPDK's heap
  unsigned cpu = 0;
};

int measure_flow_tables(const FlowBenchOptions& options);
int measure_flow_packets(const FlowBenchOptions& options);

// An entry as all engines get it.
struct BenchFlow {
  router::FilterKey4 key, mask;
  uint32_t priority;
};

class FlowEngine {
 public:
  virtual ~FlowEngine() = default;
  virtual std::string name() const = 0;
  // Empty: done; else why it cannot have them.
  virtual std::string load(const std::vector<BenchFlow>& flows) = 0;
  virtual void prepare(const std::vector<router::FilterKey4>& keys) = 0;  // in its own form
  // Looks up n of these, at most 64, from `first` on; how many are found.
  virtual unsigned find(size_t first, unsigned n) = 0;
};
std::unique_ptr<FlowEngine> make_hecto_flows(bool with_counters);
std::unique_ptr<FlowEngine> make_hecto_flows_locked();  // counts by locked adds in shared cells
std::unique_ptr<FlowEngine> make_rte_hash(unsigned number);
std::unique_ptr<FlowEngine> make_rte_acl(unsigned number);

}  // namespace hecto::bench
