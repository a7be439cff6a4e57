#include "config/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "config/doctor/checks.hpp"
#include "config/file/load_bond.hpp"

namespace hecto::config {
namespace {

constexpr unsigned kMostCpus = 8192;

}  // namespace

std::set<unsigned> parse_cpus(const std::string& text) {
  std::set<unsigned> cpus;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    unsigned first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%u-%u", &first, &last);
    if (read < 1) continue;  // "managed_irq", "(null)"
    if (read == 1) last = first;
    for (unsigned cpu = first; cpu <= last && cpu < kMostCpus; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string cpu_words(const std::set<unsigned>& cpus) {
  std::string out;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const unsigned first = *at;
    unsigned last = first;
    while (++at != cpus.end() && *at == last + 1) ++last;
    out += (out.empty() ? "" : ",") +
           (first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return out;
}

std::string cpu_braces(const std::set<unsigned>& cpus) {
  std::string out;
  for (const unsigned cpu : cpus) out += fmt::format("{}{}", out.empty() ? "" : ",", cpu);
  return cpus.size() == 1 ? out : "{" + out + "}";
}

std::set<unsigned> worker_cpus(const Machine& machine) {
  std::set<unsigned> cpus;
  if (machine.placement)
    for (const WorkerPlacement& worker : machine.placement->workers) cpus.insert(worker.cpu);
  return cpus;
}

const Nic* nic_of(const Machine& machine, const PortConfig& port) {
  for (const Nic& nic : machine.topology.nics)
    if (port.device == (port.kind == DeviceKind::kPci ? nic.pci : nic.interface)) return &nic;
  return nullptr;
}

std::vector<PortConfig> devices(const Machine& machine) {
  std::vector<PortConfig> out;
  if (!machine.config) return out;
  for (const PortConfig& port : machine.config->ports)
    for (PortConfig& part : parts_of(port)) out.push_back(std::move(part));
  return out;
}

bool has_pci_port(const Machine& machine) {
  return std::ranges::any_of(devices(machine), [&](const PortConfig& port) {
    return port.kind == DeviceKind::kPci &&
           !keeps_kernel_driver(driver_of(machine.files, port.device));
  });
}

std::vector<std::string> interfaces(const Machine& machine) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  if (!machine.config)
    for (const Nic& nic : machine.topology.nics) add(nic.interface);
  else
    for (const PortConfig& port : devices(machine))
      if (port.kind == DeviceKind::kKernel)
        add(port.device);
      else if (const Nic* nic = nic_of(machine, port); nic != nullptr)
        add(nic->interface);
  return out;
}

std::string chosen(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos
             ? text
             : text.substr(open + 1, close - open - 1);
}

std::vector<Change> right_settings(const Machine& machine) {
  std::vector<Change> right;
  for (const auto add : {right_memory, right_cpus, right_system}) add(machine, right);
  return right;
}

Findings examine(const Machine& machine) {
  Findings findings;
  for (const auto check : {check_memory, check_cpus, check_nics, check_interfaces, check_system})
    check(machine, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace hecto::config
