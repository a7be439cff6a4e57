// What this machine tells of itself beyond hwloc, for a plan made elsewhere: `hecto plan --collect`.
// Reads only.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/box/collected.hpp"
#include "config/machine/ethtool.hpp"
#include "config/machine/machine_files.hpp"

namespace hecto::config {

struct Collection {
  Collected facts;
  std::vector<std::string> notes;  // what could not be read, and what would help
};

tl::expected<Collection, std::string> collect(const MachineFiles& files, const Ethtool& ethtool);

// The parts of it that read files alone.
void collect_nics(const MachineFiles& files, const Ethtool& ethtool, const Topology& topology,
                  Collection& out);
void collect_modules(const MachineFiles& files, Collection& out);
void collect_clock(const MachineFiles& files, const Topology& topology, Collection& out);

}  // namespace hecto::config
