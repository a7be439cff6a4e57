#include "bench/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace hecto::bench {

std::string machine_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string model = "unknown processor", hypervisor;
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) model = line.substr(colon + 2);
    if (line.starts_with("flags") && line.find(" hypervisor") != std::string::npos)
      hypervisor = ", virtual machine";
    if (line.empty()) break;
  }
  return fmt::format("{}, {} cores{}", model, sysconf(_SC_NPROCESSORS_ONLN), hypervisor);
}

}  // namespace hecto::bench
