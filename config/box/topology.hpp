// The box: sockets, cores, SMT siblings, caches, PCIe and NICs. Plain values, read by
// topology.cpp from hwloc (this machine, or an hwloc XML export of another) and libnuma, or made
// by hand in tests.
//
// A socket is a NUMA node, as DPDK has it. A package may hold several (SNC of Intel, NPS of AMD).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace hecto::config {

struct Core {
  unsigned cpu = 0;                // the OS's number of the first hardware thread
  std::vector<unsigned> siblings;  // the other hardware threads of the core
  int socket = 0;                  // NUMA node
  bool allowed = true;             // in this process's affinity mask
  // What sits in a socket of the board: one NUMA node, or several. -1: its node alone.
  int package = -1;
  int l3 = -1;  // cores of one number share a last-level cache; -1: not known
};

struct Nic {
  std::string pci;                  // "0000:17:00.0"
  std::string interface;            // kernel name, if it has one
  std::string name;                 // vendor and device in words, if known
  int socket = -1;                  // NUMA node, -1: the box does not say
  std::optional<double> pcie_gt_s;  // per lane, as the link runs
  std::optional<unsigned> pcie_lanes;
  std::optional<double> pcie_max_gt_s;  // as the card could run
  std::optional<unsigned> pcie_max_lanes;
  std::optional<double> pcie_gbit_s;  // of the whole link; hwloc exports tell only this
  std::optional<double> gbit_s;       // of the wire, where the kernel drives the port
  uint16_t vendor = 0, device = 0;    // PCI ids; 0: not known
  bool ethernet = true;               // by its PCI class: InfiniBand and wireless are not
};

struct Gpu {
  std::string pci;
  std::string name;
  int socket = -1;
  std::optional<double> pcie_gbit_s;
};

struct Topology {
  std::string source;        // "this machine", or the file
  std::vector<int> sockets;  // NUMA nodes, ascending
  std::vector<Core> cores;   // by cpu, ascending
  std::vector<Nic> nics;
  std::vector<Gpu> gpus;               // without displays: 3D controllers
  std::string cpu_model;               // in words; may be empty
  std::optional<double> ghz;           // as sold, not as it runs
  uint64_t l3_bytes = 0;               // of one socket
  std::vector<uint64_t> memory_bytes;  // by position in `sockets`
  // Likewise; empty where it is not known. An export tells the hugepages reserved, not the free.
  std::vector<uint64_t> hugepage_bytes;     // free, of every size
  std::vector<uint64_t> hugepages_2m;       // reserved of 2 MiB, free or not
  std::vector<uint64_t> free_memory_bytes;  // not in hugepages
  // Of all modules of a package, by position in `sockets`; empty where nothing tells.
  std::vector<double> memory_gbyte_s;
  std::vector<std::string> notes;  // what was concluded from little, one line each
};

// The package of a NUMA node; the node's own number where no core tells.
int package_of(const Topology& topology, int socket);

tl::expected<Topology, std::string> read_topology();                             // this machine
tl::expected<Topology, std::string> read_topology(const std::string& xml_file);  // hwloc export
// The bytes of an export of hwloc 2 or 3; `source` is named in refusals.
tl::expected<Topology, std::string> parse_topology(const std::string& xml,
                                                   const std::string& source);

// Fills the two hugepage fields for `topology.sockets` from sysfs, which a test keeps elsewhere.
void read_hugepages(Topology& topology, const std::string& sys = "/sys");

}  // namespace hecto::config
