// What is measured in memory: a router of this process without Linux, whose receive ports replay
// packets and whose two egress ports are sinks, with a full table behind half of the next hops
// each. Its workers are polled by the caller, or run on their own cores.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "bench/bed/leading_rules.hpp"
#include "bench/bed/replay.hpp"
#include "router/control/route_control.hpp"
#include "router/control/router.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/ipsec/ipsec.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::bench {

struct BedOptions {
  std::string table;        // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";   // where ../shared/data is looked for
  size_t routes = 0;        // of each family, at random; 0, or more than there are: all
  unsigned next_hops = 64;  // up to 500
  unsigned labels = 0;      // of MPLS, that each of them puts on packets
  unsigned rules = 0;       // policy rules of each family, which hold for nothing
  LookUpBy by = LookUpBy::kMain;
  unsigned filters = 0;           // rules of each family, of a filter of all receive ports
  bool policed = false;           // and by a policer
  unsigned into_tunnels = 0;      // all routes lead into so many of GRE; up to next_hops
  unsigned policed_prefixes = 0;  // or by a bucket for each of so many destinations
  unsigned destinations = 65536;  // of each family, a power of two
  unsigned burst = 64;            // the largest
  uint16_t mtu = 1500;            // of all ports, or what the frames need
  uint16_t egress_mtu = 0;        // of the egress ports; 0: that
  std::vector<ReplayFrames> frames = {{}};        // kinds, of which the first is sent at first
  std::vector<std::pair<int, unsigned>> workers;  // socket and core of each; empty: one, anywhere
  uint32_t sample = 0;                            // one packet in so many, as for sFlow; 0: none
  bool counters = false;                          // of interfaces: packets and bytes
  bool spread = false;                            // the first receive port is `spread: auto`
  // Every core said to lie on the next socket: pools and tables where the workers are not.
  bool wrong_sockets = false;
};

class Bed {
 public:
  static Result<std::unique_ptr<Bed>> create(const BedOptions& options);

  router::Router& router() { return *router_; }
  size_t workers() const { return router_->dataplane().workers().size(); }
  Replay& replay(size_t worker) { return *replays_[worker]; }
  // Another kind of frames, on all ports. While no worker runs.
  void select_frames(size_t kind);
  // Of all receive queues, up to that of the options. While no worker runs.
  void set_burst(unsigned burst);
  const ReplayDestinations& destinations() const { return destinations_; }
  // Other ones, powers of two many, from now on. While no worker runs.
  void set_destinations(ReplayDestinations destinations) {
    destinations_ = std::move(destinations);
  }
  void forget_samples();          // that workers have taken. While none runs
  uint64_t sweep_cycles() const;  // of all ports, for frames that are swept
  PortId in(size_t worker) const { return in_[worker]; }
  const std::array<PortId, 2>& out() const { return out_; }
  rte_mempool* pool(size_t worker);  // of the worker's receive port

  const router::RouteTable& table() const { return *table_; }
  const std::string& table_name() const { return table_name_; }
  const BedOptions& options() const { return options_; }
  size_t routes() const { return routes_; }
  double load_seconds() const { return load_seconds_; }
  // Every packet that came in went out again: a benchmark of drops would be fast, too. Names on
  // stderr what was dropped.
  bool all_forwarded();

 private:
  explicit Bed(const BedOptions& options) : options_(options) {}
  Result<void> load_table();
  Result<void> load_filters();
  Result<void> make_ports();

  BedOptions options_;
  std::unique_ptr<router::Router> router_;
  std::shared_ptr<const router::RouteTable> table_;
  std::string table_name_;
  size_t routes_ = 0;
  double load_seconds_ = 0;
  ReplayDestinations destinations_;
  std::shared_ptr<router::FlowTaps> taps_;  // null: nothing is sampled
  std::vector<PortId> in_;
  std::array<PortId, 2> out_{};
  std::vector<std::unique_ptr<Replay>> replays_;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// Bytes of one frame after another, as --size names them: a number, or imix (7 of 64, 4 of 594,
// 1 of 1518, well mixed; 4 bytes less in memory, where no FCS is).
Result<std::vector<uint16_t>> frame_sizes(const std::string& size);
double mean_bytes(const std::vector<uint16_t>& sizes);

}  // namespace hecto::bench
