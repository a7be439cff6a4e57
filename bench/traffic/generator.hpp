// Sends the streams of a TrafficSpec over DPDK ports and receives what comes back: loss,
// duplicates, order, latency, jitter for each stream, and what is not as a router sends it.
// Stateless: what it knows of a packet stands in the packet (tag.hpp), or follows from its number
// (frame_check.hpp), what it knows of a stream is a window of sequence numbers (window.hpp).
//
//   auto spec = make_spec("net_memif0,role=client,...", "net_memif1,role=client,...");
//   auto generator = Generator::create(spec, {});
//   auto result = (*generator)->run({.pps = 1e6, .seconds = 2});
//
// The caller's thread sends and receives itself, pinned to the first of `cpus`, with the others
// helping; each port belongs to one of them. Not thread-safe, except for `stop`.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bench/traffic/spec.hpp"
#include "bench/traffic/trial.hpp"

namespace hecto::bench {

struct GeneratorOptions {
  std::vector<unsigned> cpus;  // empty: the last one that this process may use
  // false: DPDK runs in this process already (a router, a test), and has lcores on `cpus`; the
  // caller's own thread counts as the first.
  bool start_eal = true;
  const std::atomic<bool>* stop = nullptr;  // once true a trial ends early: `interrupted`
  uint16_t burst = 64;                      // packets handed over at once, 1 to 64
  uint32_t mbufs = 0;                       // default: enough for all queues
  uint16_t longest_frame_bytes = 1518;      // that `use` may come with, where the spec has less
  double neighbor_seconds = 5;              // how long gateways are asked for their MAC address
  double link_seconds = 10;                 // how long ports may take to come up
  double quiet_seconds = 0.5;  // after that: the router may see its links later than we do ours
};

class Generator : public TrialRunner {
 public:
  // Starts DPDK, opens the ports, waits for their links, learns the MAC addresses.
  static Result<std::unique_ptr<Generator>> create(const TrafficSpec& spec,
                                                   const GeneratorOptions& options);
  ~Generator() override;

  // Sizes, flows, destinations of further trials, over the same ports.
  virtual Result<void> use(const std::vector<StreamSpec>& streams) = 0;
  // What the spec's rate is in packets a second, given the speed of the ports; 0: the most. An
  // error names the port that cannot do it.
  virtual Result<double> pps(const TrafficRate& rate) const = 0;

  // The counts of the last trial, also of one that ended with an error.
  virtual const TrialResult& last() const = 0;

  struct PortInfo {
    std::string name, device, driver, mac;
    uint64_t line_bps = 0;             // 0: not known
    std::vector<std::string> refused;  // what the driver did not do, in sentences
  };
  virtual std::vector<PortInfo> ports() const = 0;
  // What of the packets that come back cannot be checked, and what would change that: a line each.
  virtual std::vector<std::string> unchecked() const = 0;
};

}  // namespace hecto::bench
