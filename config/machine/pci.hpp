// A PCI device as sysfs has it: addresses, names, drivers, and who would miss it. Reads only.
#pragma once

#include <string>
#include <vector>

#include "config/machine/kernel.hpp"
#include "config/machine/machine_files.hpp"

namespace hecto::config {

inline constexpr const char* kVfio = "vfio-pci";

std::string device_folder(const std::string& pci);
std::string driver_of(const MachineFiles& files, const std::string& pci);  // empty: none
// Its interfaces in the kernel, those of a virtio device with them.
std::vector<std::string> interfaces_of(const MachineFiles& files, const std::string& pci);
// NICs of the mlx families work through their kernel driver: nothing is bound.
bool keeps_kernel_driver(const std::string& driver);

// The full address of "17:00.0", "0000:17:00.0" or "eth1".
Result<std::string> resolve(const MachineFiles& files, const std::string& device);

// Why taking the device would cut the operator off; empty: it would not.
std::string carries(const MachineFiles& files, const KernelCalls& kernel, const std::string& pci,
                    const std::string& session_address);

// Devices of the same IOMMU group that the kernel's drivers have, but those of `taken`.
std::vector<std::string> group_companions(const MachineFiles& files, const std::string& pci,
                                          const std::vector<std::string>& taken);

}  // namespace hecto::config
