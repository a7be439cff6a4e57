// What a NIC is, by its PCI ids: how many wires of which rate, how many packets, which link.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hecto::config {

struct NicModel {
  uint16_t vendor, device;
  std::string_view name;
  unsigned ports;               // of the widest card of this id; 0: virtual, the box tells nothing
  double gbit_s;                // of a port, the fastest that cards of this id have; 0: virtual
  bool one_rate;                // all cards of this id have that rate
  double mpps;                  // of the whole card, each direction; 0: not published, or line rate
  unsigned gen, lanes;          // of the card's PCIe; 0: virtual
  unsigned rx_bytes, tx_bytes;  // of a descriptor, as DPDK's driver asks for it
  double card_gbit_s = 0;       // of the whole card, each direction; 0: its wires' sum
};

// Null: not in the table.
const NicModel* find_nic_model(uint16_t vendor, uint16_t device) noexcept;

// "8086:1572"; nothing where the text is not that.
struct PciId {
  uint16_t vendor = 0, device = 0;
};
std::optional<PciId> parse_pci_id(std::string_view text) noexcept;

}  // namespace hecto::config
