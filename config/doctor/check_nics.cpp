#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "config/box/pcie.hpp"
#include "config/doctor/checks.hpp"

namespace hecto::config {
namespace {

struct PortNic {
  std::string name;                // the port's, else the interface's
  std::optional<PortConfig> port;  // none without a configuration; of a bond a member
  const Nic* nic = nullptr;        // none: not on PCI
};

std::vector<PortNic> port_nics(const Machine& machine) {
  std::vector<PortNic> out;
  if (!machine.config)
    for (const Nic& nic : machine.topology.nics)
      out.push_back({nic.interface.empty() ? nic.pci : nic.interface, std::nullopt, &nic});
  else
    for (const PortConfig& port : devices(machine))
      if (port.kind != DeviceKind::kVdev) out.push_back({port.name, port, nic_of(machine, port)});
  return out;
}

void check_there(const PortNic& each, const MachineFiles& files, Findings& findings) {
  if (!each.port) return;
  const bool pci = each.port->kind == DeviceKind::kPci;
  const std::string& device = each.port->device;
  if (!files.exists(pci ? device_folder(device) : "/sys/class/net/" + device)) {
    findings.push_back({Severity::kProblem,
                        "device",
                        fmt::format("{}: this machine has no {}", each.name, device),
                        "hectod does not start",
                        pci ? "lspci -D lists PCI devices" : "ip link lists interfaces",
                        {}});
    return;
  }
  const std::string driver = driver_of(files, device);
  if (!pci || driver == kVfio || driver == "uio_pci_generic" || driver == "igb_uio" ||
      keeps_kernel_driver(driver))
    return;
  findings.push_back(
      {Severity::kProblem,
       "binding",
       fmt::format("{}: {}", each.name,
                   driver.empty() ? "no driver has " + device
                                  : fmt::format("the kernel's {} has {}", driver, device)),
       "DPDK has no port for it, and hectod does not start",
       "hecto bind " + device,
       {}});
}

void check_link(const PortNic& each, Findings& findings) {
  const Nic& nic = *each.nic;
  if (!nic.pcie_gt_s || !nic.pcie_lanes || !nic.pcie_max_gt_s || !nic.pcie_max_lanes) return;
  const double now = link_gbit_s(*nic.pcie_gt_s, *nic.pcie_lanes);
  const double most = link_gbit_s(*nic.pcie_max_gt_s, *nic.pcie_max_lanes);
  if (now >= most) return;
  findings.push_back({Severity::kProblem,
                      "pcie",
                      fmt::format("{}: {} runs at {}, it could at {}", each.name, nic.pci,
                                  link_words(*nic.pcie_gt_s, *nic.pcie_lanes),
                                  link_words(*nic.pcie_max_gt_s, *nic.pcie_max_lanes)),
                      fmt::format("{:.0f} of {:.0f} Gb/s each way", now, most),
                      "another slot; in the firmware: the slot's speed and bifurcation",
                      {}});
}

void check_socket(const PortNic& each, const Machine& machine, Findings& findings) {
  if (!each.port || each.nic->socket < 0 || !machine.placement) return;
  std::set<int> pollers;
  for (const WorkerPlacement& worker : machine.placement->workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == each.port->name && worker.socket != each.nic->socket)
        pollers.insert(worker.socket);
  if (pollers.empty()) return;
  findings.push_back({Severity::kProblem,
                      "numa",
                      fmt::format("{}: on socket {}, polled from socket {}", each.name,
                                  each.nic->socket, cpu_words({pollers.begin(), pollers.end()})),
                      "each packet crosses the link between the sockets",
                      fmt::format("workers: name cores of socket {}, too", each.nic->socket),
                      {}});
}

// Ports of one driver that differ in firmware: one of them was left behind.
void check_firmware(const Machine& machine, Findings& findings) {
  std::map<std::string, std::map<std::string, std::string>> by_driver;
  for (const auto& [interface, facts] : machine.facts)
    if (!facts.firmware.empty()) by_driver[facts.driver][facts.firmware] = interface;
  for (const auto& [driver, firmwares] : by_driver) {
    if (firmwares.size() < 2) continue;
    std::string told;
    for (const auto& [firmware, interface] : firmwares)
      told += fmt::format("{}{} has {}", told.empty() ? "" : ", ", interface, firmware);
    findings.push_back({Severity::kAdvice,
                        "firmware",
                        fmt::format("NICs of {} differ in firmware: {}", driver, told),
                        "the older one has faults that the other has not",
                        "the vendor's tool brings both to the newest",
                        {}});
  }
}

}  // namespace

void check_nics(const Machine& machine, Findings& findings) {
  for (const PortNic& each : port_nics(machine)) {
    check_there(each, machine.files, findings);
    if (each.nic == nullptr) continue;
    check_link(each, findings);
    check_socket(each, machine, findings);
  }
  check_firmware(machine, findings);
}

}  // namespace hecto::config
