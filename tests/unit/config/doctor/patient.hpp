// A machine of files, cores and NICs made by hand, and what is found of it.
#pragma once

#include <gmock/gmock.h>

#include "config/doctor/doctor.hpp"
#include "tests/beds/boxes.hpp"
#include "tests/beds/machine_tree.hpp"

namespace hecto::config::test {

using ::testing::HasSubstr;

class Patient : public ::testing::Test {
 protected:
  void configure(const std::string& yaml, const Topology& topology) {
    machine.topology = topology;
    machine.config = read(yaml);
    machine.placement = placed(*machine.config, topology);
  }
  // Of that name; a finding without text where there is none.
  Finding found(const std::string& name) {
    for (const Finding& finding : examine(machine))
      if (finding.name == name) return finding;
    return {};
  }
  bool finds(const std::string& name) { return !found(name).what.empty(); }

  MachineTree tree;
  MachineFiles files{tree.root()};
  Machine machine{files};
};

}  // namespace hecto::config::test
