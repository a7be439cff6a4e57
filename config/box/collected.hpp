// What `hecto plan --collect` wrote about a machine, to plan for it elsewhere: its hwloc topology,
// and what hwloc does not tell of clock, NICs and memory modules. YAML:
//
//   collected: 1                                  # the version of this format
//   machine: "host7"
//   cpu: {model: "...", ghz: 2.1, most_ghz: 3.4, governor: performance}
//   nics:
//     "0000:17:00.0": {gt_s: 16, lanes: 16, most_gt_s: 16, most_lanes: 16, gbit_s: 100,
//                      interface: eth2, driver: ice, firmware: "4.20", queues: 64}
//   modules: [{name: DIMM_A1, gbyte: 32, mt_s: 4800}]
//   hwloc: |                                      # the last, so that a cut file shows
//     <?xml ...
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/box/topology.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

struct MemoryModule {
  std::string name;  // as the board prints it beside its place
  double gbyte = 0;
  double mt_s = 0;  // as it runs; 0: not told
};

struct NicFacts {
  std::optional<double> gt_s, lanes, most_gt_s, most_lanes, gbit_s;
  std::string interface, driver, firmware;
  std::optional<double> queues;
};

struct Collected {
  std::string machine, model, governor;
  std::optional<double> ghz, most_ghz;
  std::map<std::string, NicFacts> nics;  // by PCI address
  std::vector<MemoryModule> modules;     // the filled places
  std::string hwloc;                     // an XML export
};

std::string to_yaml(const Collected& collected);
// Whether the text is one of these files: it may still be refused.
bool looks_collected(std::string_view text);
tl::expected<Collected, Problems> read_collected(std::string_view text, const std::string& file);
tl::expected<Topology, Problems> parse_collected(std::string_view text, const std::string& file);

// GB/s of the channels that hold modules. Nothing where a module tells no speed, or no channel by
// the end of its name: DIMM_A1 and DIMM_A2, DIMMA1, DIMM A1 share one; A1 and DIMM 1 tell none.
std::optional<double> bandwidth_of(const std::vector<MemoryModule>& modules);

}  // namespace hecto::config
