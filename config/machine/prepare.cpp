#include <fmt/format.h>

#include "config/file/load_bond.hpp"
#include "config/machine/binding.hpp"
#include "config/machine/hugepages.hpp"

namespace hecto::config {
namespace {

void reserve(MachineFiles& files, const HugepageNeed& need, Prepared& out) {
  const uint64_t target = need.target(runs(files, "hectod"));
  if (target == need.reserved) {
    if (need.page_bytes == 0)
      out.failed.push_back("the kernel has no hugepages: hectod takes ordinary pages");
    return;
  }
  if (!need.fits()) {
    out.failed.push_back(
        fmt::format("node {}: {} MiB of hugepages are wanted of {} MiB of memory: none are taken",
                    need.socket, need.wanted_bytes >> 20, need.memory_bytes >> 20));
    return;
  }
  if (auto done = files.write(need.file, std::to_string(target)); !done) {
    out.failed.push_back(done.error().message);
    return;
  }
  // The kernel takes what it can, and says nothing.
  const uint64_t now = files.number(need.file).value_or(0);
  out.done.push_back(fmt::format("node {}: {} hugepages of {} KiB, had {}", need.socket, now,
                                 need.page_bytes >> 10, need.reserved));
  if (now < target)
    out.failed.push_back(fmt::format(
        "node {}: {} of {} hugepages: memory is too full, or in too many pieces; reserve at boot "
        "(hugepages= on the kernel's command line)",
        need.socket, now, target));
}

}  // namespace

Prepared prepare(MachineFiles& files, KernelCalls& kernel, const Config& config,
                 const Placement& placement, const BindOptions& options) {
  Prepared out;
  for (const HugepageNeed& need : hugepage_needs(config, placement, files))
    reserve(files, need, out);
  std::vector<std::string> devices;
  for (const PortConfig& port : config.ports)
    for (const PortConfig& part : parts_of(port))
      if (part.kind == DeviceKind::kPci) devices.push_back(part.device);
  if (devices.empty()) return out;
  if (auto lines = bind_devices(files, kernel, devices, options); !lines)
    out.failed.push_back(lines.error().message);
  else
    out.done.insert(out.done.end(), lines->begin(), lines->end());
  return out;
}

}  // namespace hecto::config
