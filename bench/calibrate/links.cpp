#include <fmt/format.h>

#include "bench/calibrate/parts.hpp"

namespace hecto::bench {

void note_links(const config::Topology& topology, MeasuredConstants& found) {
  if (topology.nics.empty())
    found.notes.emplace_back("links: no NIC on PCIe; nic_rx_cycles and nic_tx_cycles stay");
  for (const config::Nic& nic : topology.nics) {
    std::string line = fmt::format("links: {} {}", nic.pci, nic.name);
    if (nic.pcie_gt_s && nic.pcie_lanes) {
      line += fmt::format(": {} GT/s x{}", *nic.pcie_gt_s, *nic.pcie_lanes);
      if (nic.pcie_max_gt_s && nic.pcie_max_lanes &&
          (*nic.pcie_gt_s < *nic.pcie_max_gt_s || *nic.pcie_lanes < *nic.pcie_max_lanes))
        line += fmt::format(", below the card's {} GT/s x{}: another slot, or its BIOS setting",
                            *nic.pcie_max_gt_s, *nic.pcie_max_lanes);
    } else {
      line += ": the link's state is not told here";
    }
    found.notes.push_back(line);
  }
}

}  // namespace hecto::bench
