// The checks, by what they look at, and what they share. Each adds what it finds.
#pragma once

#include <set>

#include "config/doctor/doctor.hpp"
#include "config/machine/pci.hpp"

namespace hecto::config {

void check_memory(const Machine& machine, Findings& findings);  // hugepages, swap, limits
void check_cpus(const Machine& machine, Findings& findings);    // clocks, idle states, isolation
void check_nics(const Machine& machine, Findings& findings);    // PCIe, sockets, drivers
void check_interfaces(const Machine& machine,
                      Findings& findings);                      // of the kernel: offloads, queues
void check_system(const Machine& machine, Findings& findings);  // IOMMU, kernel, other programs

// What --fix sets, where it is as it should be.
void right_memory(const Machine& machine, std::vector<Change>& right);
void right_cpus(const Machine& machine, std::vector<Change>& right);
void right_system(const Machine& machine, std::vector<Change>& right);
// "always [madvise] never" is madvise.
std::string chosen(const std::string& text);

// "2-9,18", as the kernel writes and reads it.
std::set<unsigned> parse_cpus(const std::string& text);
std::string cpu_words(const std::set<unsigned>& cpus);
// "file" of each of so many CPUs, for a shell: cpu{2,3}.
std::string cpu_braces(const std::set<unsigned>& cpus);
std::set<unsigned> worker_cpus(const Machine& machine);  // none without a configuration

// The NIC of a port, where the box has it.
// What the file's ports are made of, members of bonds one by one.
std::vector<PortConfig> devices(const Machine& machine);
const Nic* nic_of(const Machine& machine, const PortConfig& port);
bool has_pci_port(const Machine& machine);  // one that needs VFIO

}  // namespace hecto::config
