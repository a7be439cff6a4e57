// What of this machine keeps a router slow, or from starting: kernel, memory, cores and NICs, held
// against a configuration and its placement where there is one. Reads only; fix.hpp mends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/machine/ethtool.hpp"
#include "config/machine/machine_files.hpp"
#include "config/placement/placement.hpp"

namespace hecto::config {

enum class Severity : uint8_t { kProblem, kAdvice };

// One thing that --fix may change: a file of sysfs or procfs, or a feature of an interface.
struct Change {
  std::string file, value;
  std::string interface;  // else this one's feature, which is switched off
  InterfaceFeature feature = InterfaceFeature::kGro;
};

struct Finding {
  Severity severity = Severity::kAdvice;
  std::string name;             // "hugepages"
  std::string what;             // "node 0: 0 MiB of hugepages free, 140 MiB wanted"
  std::string costs;            // "packets miss the TLB"
  std::string mend;             // a command, or a word to the firmware
  std::vector<Change> changes;  // empty: not safe enough for --fix
};
using Findings = std::vector<Finding>;

struct Machine {
  Machine(const MachineFiles& files) : files(files) {}
  const MachineFiles& files;
  Topology topology;
  std::optional<Config> config;
  std::optional<Placement> placement;           // of the configuration
  std::map<std::string, InterfaceFacts> facts;  // of interfaces() alone
};

// Kernel names of the configuration's interfaces, those of its PCI devices with them; without a
// configuration those of all NICs.
std::vector<std::string> interfaces(const Machine& machine);

// Problems first.
Findings examine(const Machine& machine);
// What --fix would set and need not: it is so already, as it is. For files that keep it.
std::vector<Change> right_settings(const Machine& machine);

}  // namespace hecto::config
