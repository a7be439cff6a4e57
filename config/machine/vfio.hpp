// The steps of binding.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/machine/bound.hpp"
#include "config/machine/kernel.hpp"
#include "config/machine/pci.hpp"

namespace hecto::config {

// What has been done, to be taken back in reverse.
class Undo {
 public:
  using Step = std::function<Result<void>()>;
  void add(Step step) { steps_.push_back(std::move(step)); }
  // "nothing was changed", or what could not be taken back.
  std::string run();

 private:
  std::vector<Step> steps_;
};

Result<void> load_vfio(const MachineFiles& files, KernelCalls& kernel);
bool noiommu_allowed(const MachineFiles& files);
Result<void> allow_noiommu(MachineFiles& files, bool on);

// From the kernel's driver to vfio-pci.
Result<void> take(MachineFiles& files, const std::string& pci);
// And back: driver and name of before.
Result<void> give_back(MachineFiles& files, KernelCalls& kernel, const BoundDevice& device);

// Makes VFs that no driver of the kernel takes; their addresses.
Result<std::vector<std::string>> make_functions(MachineFiles& files, const std::string& pci,
                                                unsigned count, Undo& undo);
Result<void> remove_functions(MachineFiles& files, const std::string& pci);
// Those there are.
std::vector<std::string> functions_of(const MachineFiles& files, const std::string& pci);

}  // namespace hecto::config
