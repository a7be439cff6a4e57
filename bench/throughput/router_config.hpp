// The configuration of a hectod that is measured: two memif ports that the generator connects to, a
// table behind the second, neighbors in the place of ARP. Pure functions but for write_routes.
//
//   generator  a ──memif── gen0  hectod  gen1 ──memif── b  generator      or veth pairs of with-veth
//              02:…:0a       02:…:01       02:…:02      64 neighbors, the table's next hops
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/traffic/spec.hpp"
#include "config/file/config.hpp"
#include "lookup/prefix.hpp"

namespace hecto::bench {

struct RouterOptions {
  std::string program;                // hectod; empty: found beside this program, or in PATH
  std::vector<unsigned> worker_cpus;  // one worker each
  unsigned control_cpu = 0;
  unsigned burst = 64;
  std::string idle = "poll";  // a worker's, as the file says it
  bool veth = false;          // kernel interfaces r0 and r1, the generator at g0 and g1; else memif
  uint16_t mtu = 1500;
  unsigned ring_bits = 11;  // a memif ring has 2^ring_bits packets, 8 to 14
  unsigned next_hops = 64;  // 1 to 200
  bool default_route = false;
  std::string engine = "auto";  // tables.ipv4_engine
};

struct RouteSet {
  std::string name;  // of the file, or "synthetic"
  std::vector<lookup::IpPrefix> v4, v6;
  const std::vector<lookup::IpPrefix>& of(lookup::Family family) const {
    return family == lookup::Family::kIpv4 ? v4 : v6;
  }
};
// `most` of each family, spread over the whole table; 0: all of it. `file`: empty for the real
// table where it is found from `root`; where that has less than `most` or is not there, a synthetic
// one.
Result<RouteSet> choose_routes(const std::string& file, const std::string& root, uint64_t most);

inline constexpr MacAddress kRouterMac = {2, 0, 0, 0, 0, 1};  // gen0's

// Next hop `index` of the table.
std::string next_hop(lookup::Family family, unsigned index);
inline constexpr MacAddress next_hop_mac(unsigned index) {
  return {2, 0, 0, 0, 2, static_cast<uint8_t>(index)};
}
// Whom the router sends packets to: by the longest of `prefixes` that covers a destination, or the
// default route's next hop. Of what lies under `changing` it is not known.
NextHopMac next_hops_of(const std::vector<lookup::IpPrefix>& prefixes, unsigned next_hops,
                        const std::vector<lookup::IpPrefix>& changing);
// The table as `hecto load-routes` takes it, each prefix with its own next hop.
Result<void> write_routes(const RouteSet& routes, unsigned next_hops,
                          const std::filesystem::path& file);

// What a reload may change while traffic runs.
struct RouterChanges {
  bool spare_port = false;  // a third port, net_null
  bool other_burst = false;
};
std::string router_yaml(const RouterOptions& options, const std::filesystem::path& folder,
                        const RouterChanges& changes = {});
// The generator's end of gen0 (0) or gen1 (1).
std::string generator_device(const RouterOptions& options, const std::filesystem::path& folder,
                             unsigned port);

// The CPUs that this process may use, dealt out: the generator's and the workers' are alone where
// there are enough, hectod's control shares with the generator before it shares with a worker.
struct CpuPlan {
  std::vector<unsigned> generator, workers;
  unsigned control = 0;
};
CpuPlan plan_cpus(const std::vector<unsigned>& allowed, unsigned workers);
std::vector<unsigned> allowed_cpus();

}  // namespace hecto::bench
