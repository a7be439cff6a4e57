#include "config/machine/binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/machine/vfio.hpp"

namespace hecto::config {
namespace {

// One `hecto bind`: what it read, does, and takes back.
class Binder {
 public:
  Binder(MachineFiles& files, KernelCalls& kernel, const BindOptions& options)
      : files_(files), kernel_(kernel), options_(options) {}

  Result<Lines> run(const std::vector<std::string>& devices) {
    auto read = read_bound(files_);
    if (!read) return tl::unexpected(read.error());
    bound_ = std::move(*read);
    if (auto done = resolve_all(devices); !done) return tl::unexpected(done.error());
    if (auto done = refuse_all(); !done) return tl::unexpected(done.error());
    if (auto done = bind_all(); !done)
      return fail(done.error().message + undo_.run(), done.error().error_number);
    return lines_;
  }

 private:
  bool to_take(const std::string& pci) const {
    const std::string driver = driver_of(files_, pci);
    return options_.vfs || (driver != kVfio && !keeps_kernel_driver(driver));
  }

  Result<void> resolve_all(const std::vector<std::string>& devices) {
    for (const std::string& device : devices) {
      auto pci = resolve(files_, device);
      if (!pci) return tl::unexpected(pci.error());
      if (std::ranges::find(devices_, *pci) == devices_.end()) devices_.push_back(*pci);
    }
    return {};
  }

  // Before anything is touched.
  Result<void> refuse_all() const {
    for (const std::string& pci : devices_) {
      if (!to_take(pci)) continue;
      if (const std::string driver = driver_of(files_, pci); keeps_kernel_driver(driver))
        return fail(
            fmt::format("{}: DPDK works through {}, which its VFs keep, too: make them by "
                        "sriov_numvfs, and name them in the file",
                        pci, driver));
      if (!options_.noiommu && !files_.exists(device_folder(pci) + "/iommu_group"))
        return fail(fmt::format(
            "{} has no IOMMU group: switch VT-d or AMD-Vi on in the firmware, and intel_iommu=on "
            "iommu=pt (amd_iommu=on) on the kernel's command line; or --noiommu, where the device "
            "may write to all of the memory",
            pci));
      if (options_.vfs) continue;  // the device stays with the kernel
      if (const auto why = carries(files_, kernel_, pci, options_.session_address);
          !why.empty() && !options_.force)
        return fail(fmt::format("{}: {}; --force binds it all the same", pci, why));
      if (const auto others = group_companions(files_, pci, devices_); !others.empty())
        return fail(fmt::format("{}: its IOMMU group holds {}, too; bind all of it or nothing", pci,
                                fmt::join(others, ", ")));
    }
    return {};
  }

  Result<void> bind_all() {
    if (std::ranges::any_of(devices_, [&](const std::string& pci) { return to_take(pci); }))
      if (auto done = open_vfio(); !done) return done;
    for (const std::string& pci : devices_)
      if (auto done = options_.vfs ? bind_functions(pci) : bind_one(pci, {}); !done) return done;
    return {};
  }

  Result<void> open_vfio() {
    if (auto done = load_vfio(files_, kernel_); !done) return done;
    if (!options_.noiommu || noiommu_allowed(files_) ||
        !files_.names("/sys/kernel/iommu_groups").empty())
      return {};
    bound_.noiommu = true;
    if (auto done = write_bound(files_, bound_); !done) return done;
    undo_.add([this]() -> Result<void> {
      if (auto done = allow_noiommu(files_, false); !done) return done;
      bound_.noiommu = false;
      return write_bound(files_, bound_);
    });
    lines_.push_back("VFIO runs without an IOMMU: a device may write to all of the memory");
    return allow_noiommu(files_, true);
  }

  Result<void> bind_functions(const std::string& pci) {
    const bool there = files_.number(device_folder(pci) + "/sriov_numvfs").value_or(0) != 0;
    const auto functions = make_functions(files_, pci, *options_.vfs, undo_);
    if (!functions) return tl::unexpected(functions.error());
    if (!there) lines_.push_back(fmt::format("{}: {} VFs made", pci, functions->size()));
    const std::string parent = there && !bound_.has_functions_of(pci) ? "" : pci;
    for (const std::string& function : *functions)
      if (auto done = bind_one(function, parent); !done) return done;
    return {};
  }

  Result<void> bind_one(const std::string& pci, const std::string& function_of) {
    const auto names = interfaces_of(files_, pci);
    BoundDevice device{pci, driver_of(files_, pci), names.empty() ? "" : names.front(),
                       function_of};
    // One that was cut off halfway knows the way back; the device itself does no more.
    if (const BoundDevice* known = bound_.find(pci); known && device.driver.empty())
      device = *known;
    if (device.driver == kVfio) {
      lines_.push_back(fmt::format("{}: {} has it already{}", pci, kVfio,
                                   bound_.find(pci) ? "" : ", and not by hecto: unbind leaves it"));
      return {};
    }
    if (keeps_kernel_driver(device.driver)) {
      lines_.push_back(fmt::format("{}: DPDK works through {}: not bound", pci, device.driver));
      return {};
    }
    forget(pci);
    bound_.devices.push_back(device);
    if (auto done = write_bound(files_, bound_); !done) return done;
    // What cannot be given back stays in mind.
    undo_.add([this, device]() -> Result<void> {
      if (auto done = give_back(files_, kernel_, device); !done) return done;
      forget(device.pci);
      return write_bound(files_, bound_);
    });
    if (auto done = take(files_, pci); !done) return done;
    lines_.push_back(fmt::format("{}: {}, had {}", pci, kVfio,
                                 device.driver.empty() ? "no driver" : device.driver) +
                     (device.interface.empty() ? "" : fmt::format(" as {}", device.interface)));
    return {};
  }

  void forget(const std::string& pci) {
    std::erase_if(bound_.devices, [&](const BoundDevice& each) { return each.pci == pci; });
  }

  MachineFiles& files_;
  KernelCalls& kernel_;
  const BindOptions& options_;
  std::vector<std::string> devices_;
  Bound bound_;
  Undo undo_;
  Lines lines_;
};

class Unbinder {
 public:
  Unbinder(MachineFiles& files, KernelCalls& kernel, Bound bound)
      : files_(files), kernel_(kernel), bound_(std::move(bound)) {}

  Unbound run(const std::vector<std::string>& devices) {
    for (const std::string& pci : devices) {
      if (bound_.has_functions_of(pci))
        give_functions(pci);
      else if (const BoundDevice* device = bound_.find(pci); device != nullptr)
        give(*device);
      else
        unbound_.failed.push_back(pci + ": hecto did not bind it");
    }
    if (bound_.devices.empty() && bound_.noiommu) forbid_noiommu();
    return unbound_;
  }

 private:
  // By value: the entry goes.
  bool give(const BoundDevice device) {
    const bool there = files_.exists(device_folder(device.pci));
    if (there)
      if (auto done = give_back(files_, kernel_, device); !done) {
        unbound_.failed.push_back(done.error().message);
        return false;
      }
    std::erase_if(bound_.devices, [&](const BoundDevice& each) { return each.pci == device.pci; });
    write();
    unbound_.done.push_back(device.pci + ": " +
                            (!there                  ? "is gone, forgotten"
                             : device.driver.empty() ? "no driver, as before"
                                                     : device.driver + ", as before"));
    return true;
  }

  void give_functions(const std::string& pci) {
    bool all = true;
    for (const BoundDevice& each : std::vector<BoundDevice>(bound_.devices))
      if (each.function_of == pci) all &= give(each);
    if (!all) return;
    if (auto done = remove_functions(files_, pci); !done)
      unbound_.failed.push_back(done.error().message);
    else
      unbound_.done.push_back(pci + ": its VFs are gone");
  }

  void forbid_noiommu() {
    bound_.noiommu = false;
    if (auto done = allow_noiommu(files_, false); !done)
      unbound_.failed.push_back(done.error().message);
    write();
  }

  void write() {
    if (auto done = write_bound(files_, bound_); !done)
      unbound_.failed.push_back(done.error().message);
  }

  MachineFiles& files_;
  KernelCalls& kernel_;
  Bound bound_;
  Unbound unbound_;
};

}  // namespace

Result<Lines> bind_devices(MachineFiles& files, KernelCalls& kernel,
                           const std::vector<std::string>& devices, const BindOptions& options) {
  return Binder(files, kernel, options).run(devices);
}

Result<Unbound> unbind_devices(MachineFiles& files, KernelCalls& kernel,
                               const std::vector<std::string>& devices, bool force) {
  auto bound = read_bound(files);
  if (!bound) return tl::unexpected(bound.error());
  // The kernel would wait until it lets go.
  if (!force && !bound->devices.empty() && runs(files, "hectod"))
    return fail("hectod runs and may have them; stop it first (--force: only wait for it)");
  std::vector<std::string> chosen;
  for (const std::string& device : devices) {
    const auto pci = resolve(files, device);
    if (!pci && bound->find(device) == nullptr) return tl::unexpected(pci.error());
    chosen.push_back(pci ? *pci : device);
  }
  if (devices.empty())
    for (const BoundDevice& device : bound->devices)
      if (const auto& pci = device.function_of.empty() ? device.pci : device.function_of;
          std::ranges::find(chosen, pci) == chosen.end())
        chosen.push_back(pci);
  return Unbinder(files, kernel, std::move(*bound)).run(chosen);
}

}  // namespace hecto::config
