#include "config/machine/vfio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace hecto::config {
namespace {

constexpr const char* kProbe = "/sys/bus/pci/drivers_probe";
constexpr const char* kNoiommu = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";

// Takes it from the driver that has it, if one has.
Result<void> release(MachineFiles& files, const std::string& pci) {
  if (driver_of(files, pci).empty()) return {};
  return files.write(device_folder(pci) + "/driver/unbind", pci);
}

Result<void> probe(MachineFiles& files, const std::string& pci, const std::string& driver) {
  if (auto done = files.write(kProbe, pci); !done) return done;
  const std::string now = driver_of(files, pci);
  if (now == driver) return {};
  return fail(fmt::format("{}: {} did not take it{}; the kernel's log says why", pci, driver,
                          now.empty() ? "" : fmt::format(", {} has it", now)));
}

}  // namespace

std::string Undo::run() {
  std::string failed;
  for (const Step& step : steps_ | std::views::reverse)
    if (auto done = step(); !done) failed += "; not taken back: " + done.error().message;
  steps_.clear();
  return failed.empty() ? "; nothing was changed" : failed;
}

Result<void> load_vfio(const MachineFiles& files, KernelCalls& kernel) {
  const std::string folder = std::string("/sys/bus/pci/drivers/") + kVfio;
  if (files.exists(folder)) return {};
  return kernel.load_module(kVfio);
}

bool noiommu_allowed(const MachineFiles& files) {
  return files.text(kNoiommu) == "Y";
}

Result<void> allow_noiommu(MachineFiles& files, bool on) {
  return files.write(kNoiommu, on ? "Y" : "N");
}

Result<void> take(MachineFiles& files, const std::string& pci) {
  if (auto done = files.write(device_folder(pci) + "/driver_override", kVfio); !done) return done;
  if (auto done = release(files, pci); !done) return done;
  return probe(files, pci, kVfio);
}

Result<void> give_back(MachineFiles& files, KernelCalls& kernel, const BoundDevice& device) {
  const std::string& pci = device.pci;
  // A newline alone takes the override off.
  if (auto done = files.write(device_folder(pci) + "/driver_override", "\n"); !done) return done;
  // Somebody else's by now, after a restart of the machine: theirs it stays.
  const std::string has = driver_of(files, pci);
  if (!has.empty() && has != kVfio) return {};
  if (has != device.driver) {
    if (!has.empty())
      if (auto done = release(files, pci); !done) return done;
    if (!device.driver.empty())
      if (auto done = probe(files, pci, device.driver); !done) return done;
  }
  const auto now = interfaces_of(files, pci);
  if (device.interface.empty() || now.empty() || now.front() == device.interface) return {};
  return kernel.rename(now.front(), device.interface);
}

std::vector<std::string> functions_of(const MachineFiles& files, const std::string& pci) {
  std::vector<std::string> out;
  for (unsigned i = 0;; ++i) {
    const std::string function = files.target(fmt::format("{}/virtfn{}", device_folder(pci), i));
    if (function.empty()) return out;
    out.push_back(function);
  }
}

Result<std::vector<std::string>> make_functions(MachineFiles& files, const std::string& pci,
                                                unsigned count, Undo& undo) {
  const std::string folder = device_folder(pci);
  const auto most = files.number(folder + "/sriov_totalvfs");
  if (!most || *most == 0)
    return fail(pci + " makes no VFs: it has no SR-IOV, or the firmware has it off");
  if (count > *most) return fail(fmt::format("{} makes {} VFs at most, not {}", pci, *most, count));
  const uint64_t there = files.number(folder + "/sriov_numvfs").value_or(0);
  if (there == count) return functions_of(files, pci);
  if (there != 0)
    return fail(
        fmt::format("{} has {} VFs already; take them away first: hecto unbind {}, or "
                    "echo 0 > {}/sriov_numvfs",
                    pci, there, pci, folder));
  // Else the kernel's driver for VFs takes each as it comes.
  const std::string autoprobe = folder + "/sriov_drivers_autoprobe";
  const auto before = files.text(autoprobe);
  const auto restore = [&files, autoprobe, before]() -> Result<void> {
    if (before) return files.write(autoprobe, *before);
    return {};
  };
  undo.add(restore);
  if (before)
    if (auto done = files.write(autoprobe, "0"); !done) return tl::unexpected(done.error());
  undo.add([&files, pci] { return remove_functions(files, pci); });
  if (auto done = files.write(folder + "/sriov_numvfs", std::to_string(count)); !done)
    return tl::unexpected(done.error());
  const auto made = functions_of(files, pci);
  if (made.size() != count)
    return fail(
        fmt::format("{} made {} of {} VFs; the kernel's log says why", pci, made.size(), count));
  if (auto done = restore(); !done) return tl::unexpected(done.error());
  return made;
}

Result<void> remove_functions(MachineFiles& files, const std::string& pci) {
  return files.write(device_folder(pci) + "/sriov_numvfs", "0");
}

}  // namespace hecto::config
