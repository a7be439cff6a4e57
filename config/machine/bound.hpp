// What `hecto bind` took from the kernel, so that `hecto unbind` can give it back: a file that is
// written before anything is touched. A restart of the machine gives all of it back: the file of
// another boot says nothing.
#pragma once

#include <string>
#include <vector>

#include "config/machine/machine_files.hpp"

namespace hecto::config {

inline constexpr const char* kBoundFile = "/var/lib/hecto/bound.json";

struct BoundDevice {
  std::string pci;
  std::string driver, interface;  // of before; empty: it had none
  std::string function_of;        // a VF of this device, made for hecto
};

struct Bound {
  std::vector<BoundDevice> devices;
  bool noiommu = false;  // hecto switched VFIO's noiommu mode on

  const BoundDevice* find(const std::string& pci) const;
  bool has_functions_of(const std::string& pci) const;
};

Result<Bound> read_bound(const MachineFiles& files);  // empty where there is none of this boot
Result<void> write_bound(MachineFiles& files, const Bound& bound);

}  // namespace hecto::config
