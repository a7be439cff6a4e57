// NICs between the kernel's drivers and vfio-pci, which lends them to DPDK. All that is asked or
// nothing: a failure takes back the steps before it. A second run changes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/machine/kernel.hpp"
#include "config/machine/machine_files.hpp"
#include "config/placement/placement.hpp"

namespace hecto::config {

struct BindOptions {
  bool force = false;           // also what carries the default route or an SSH session
  bool noiommu = false;         // VFIO without an IOMMU: the NIC may write to all of the memory
  std::optional<unsigned> vfs;  // so many VFs of each device are bound, not itself
  std::string session_address;  // of $SSH_CONNECTION: this end's
};

using Lines = std::vector<std::string>;

// PCI addresses or interfaces. Lines of what was done.
Result<Lines> bind_devices(MachineFiles& files, KernelCalls& kernel,
                           const std::vector<std::string>& devices, const BindOptions& options);

struct Unbound {
  Lines done, failed;
};
// Back to driver and name of before; nothing named: all that was bound. Goes on after a failure,
// and keeps in mind what failed.
Result<Unbound> unbind_devices(MachineFiles& files, KernelCalls& kernel,
                               const std::vector<std::string>& devices, bool force);

// Hugepages and devices as a configuration needs them, before hectod starts.
struct Prepared {
  Lines done, failed;
};
Prepared prepare(MachineFiles& files, KernelCalls& kernel, const Config& config,
                 const Placement& placement, const BindOptions& options);

}  // namespace hecto::config
