#include "config/machine/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hecto::config {

using nlohmann::json;

namespace {

// Empty: the kernel does not say.
std::string boot_id(const MachineFiles& files) {
  std::string id = files.text("/proc/sys/kernel/random/boot_id").value_or("");
  id.erase(id.find_last_not_of(" \n") + 1);
  return id;
}

}  // namespace

const BoundDevice* Bound::find(const std::string& pci) const {
  const auto at = std::ranges::find(devices, pci, &BoundDevice::pci);
  return at == devices.end() ? nullptr : &*at;
}

bool Bound::has_functions_of(const std::string& pci) const {
  return std::ranges::find(devices, pci, &BoundDevice::function_of) != devices.end();
}

Result<Bound> read_bound(const MachineFiles& files) {
  Bound bound;
  const auto text = files.text(kBoundFile);
  if (!text) return bound;
  try {
    const json read = json::parse(*text);
    // A file of a version without it is believed.
    if (const std::string of = read.value("boot", ""); !of.empty() && of != boot_id(files))
      return bound;
    bound.noiommu = read.at("noiommu");
    for (const json& each : read.at("devices"))
      bound.devices.push_back(
          {each.at("pci"), each.at("driver"), each.at("interface"), each.at("function_of")});
  } catch (const json::exception& problem) {
    return fail(
        fmt::format("{} is damaged ({}): what was bound before is not known; give devices "
                    "back by hand (driver_override, drivers_probe) and remove it",
                    kBoundFile, problem.what()));
  }
  return bound;
}

Result<void> write_bound(MachineFiles& files, const Bound& bound) {
  json devices = json::array();
  for (const BoundDevice& each : bound.devices)
    devices.push_back({{"pci", each.pci},
                       {"driver", each.driver},
                       {"interface", each.interface},
                       {"function_of", each.function_of}});
  return files.replace(
      kBoundFile,
      json{{"boot", boot_id(files)}, {"noiommu", bound.noiommu}, {"devices", devices}}.dump(2) +
          "\n");
}

}  // namespace hecto::config
