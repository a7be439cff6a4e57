#include "router/dataplane/ports/pci_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file_descriptor.hpp"

namespace hecto::router {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVfio = "vfio-pci";
// Of the kernel, but DPDK works through them.
constexpr std::array kShared = {"mlx4_core", "mlx5_core", "uio_pci_generic", "igb_uio"};

// The last word of a link's target; empty where there is no such link.
std::string target(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename();
}

std::string why_vfio_refuses(const std::string& group, const std::string& complaint,
                             const std::string& dev) {
  if (group.empty())
    return "it has no IOMMU group; switch the IOMMU on in the BIOS and in Linux (intel_iommu=on)";
  const std::string file = fmt::format("{}/vfio/{}", dev, group);
  const FileDescriptor descriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!descriptor && errno == EBUSY) return "another program has it; `fuser " + file + "` names it";
  if (!descriptor)
    return fmt::format("{}: {}; run as root, or give the file to hecto's user", file,
                       std::strerror(errno));
  vfio_group_status status{};
  status.argsz = sizeof status;
  if (ioctl(descriptor.get(), VFIO_GROUP_GET_STATUS, &status) == 0 &&
      (status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0)
    return fmt::format("others of its IOMMU group {} belong to the kernel; bind them to {}, too",
                       group, kVfio);
  return fmt::format("{} has it, but DPDK does not take it: {}", kVfio,
                     complaint.empty() ? "it has no driver for it" : complaint);
}

}  // namespace

bool has_one_interrupt(const std::string& pci, const std::string& sys) {
  const std::string driver = target(fs::path(sys) / "bus/pci/devices" / pci / "driver");
  return driver == "uio_pci_generic" || driver == "igb_uio";
}

std::string why_no_port(const std::string& pci, const std::string& complaint,
                        const std::string& sys, const std::string& dev) {
  const fs::path device = fs::path(sys) / "bus/pci/devices" / pci;
  std::error_code error;
  if (!fs::exists(device, error))
    return "this machine has no such PCI device; `lspci -D` lists those there are";
  const std::string driver = target(device / "driver");
  if (driver == kVfio) return why_vfio_refuses(target(device / "iommu_group"), complaint, dev);
  for (const char* shared : kShared)
    if (driver == shared) return fmt::format("{} has it: {}", driver, complaint);
  return fmt::format("{}; give it to DPDK: hecto bind {}",
                     driver.empty() ? "no driver has it" : "the kernel's " + driver + " has it",
                     pci);
}

}  // namespace hecto::router
