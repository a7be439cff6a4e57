#include "router/control/instance.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "config/file/load_bond.hpp"

namespace hecto::router {
namespace {

uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// 17:00.0 is 0000:17:00.0.
std::string whole_pci_address(std::string address) {
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return std::count(address.begin(), address.end(), ':') < 2 ? "0000:" + address : address;
}

LockName api_lock(const std::string& socket) {
  std::error_code error;
  const std::filesystem::path path(socket);
  const auto folder = std::filesystem::weakly_canonical(path.parent_path(), error);
  return {"api-" + (error ? path : folder / path.filename()).string(), "API socket " + socket};
}

std::vector<LockName> namespace_locks(const std::string& name) {
  std::vector<LockName> locks{{"linux-" + name, "network namespace " + name}};
  // One namespace may have two names.
  if (const uint64_t inode = inode_of("/run/netns/" + name); inode != 0)
    locks.push_back({fmt::format("netns-{}", inode), "network namespace " + name});
  return locks;
}

}  // namespace

std::string kernel_interface_of(const config::PortConfig& port) {
  if (port.kind == config::DeviceKind::kKernel) return port.device;
  constexpr std::string_view kInterface = ",iface=";
  const size_t at = port.device.find(kInterface);
  if (port.kind != config::DeviceKind::kVdev || at == std::string::npos) return {};
  if (port.device.starts_with("net_tap")) return {};  // makes its interface itself
  const size_t from = at + kInterface.size();
  return port.device.substr(from, port.device.find(',', from) - from);
}

std::optional<LockName> device_lock(const config::PortConfig& port) {
  const std::string subject = fmt::format("port {} ({})", port.name, port.device);
  if (port.kind == config::DeviceKind::kPci)
    return LockName{"pci-" + whole_pci_address(port.device), subject};
  const std::string interface = kernel_interface_of(port);
  if (interface.empty()) return std::nullopt;
  return LockName{fmt::format("netdev-{}-{}", inode_of("/proc/self/ns/net"), interface), subject};
}

Result<std::unique_ptr<InstanceLocks>> lock_instance(const config::Config& config) {
  auto opened = InstanceLocks::open(InstanceLocks::folder_for(config.api_socket));
  if (!opened) return tl::unexpected(opened.error());
  InstanceLocks& locks = **opened;
  std::vector<LockName> wanted{api_lock(config.api_socket)};
  for (const config::PortConfig& port : config.ports)
    for (const config::PortConfig& part : parts_of(port))
      if (auto lock = device_lock(part)) wanted.push_back(std::move(*lock));
  if (config.linux_side.enabled)
    for (LockName& lock : namespace_locks(config.linux_side.name_space))
      wanted.push_back(std::move(lock));
  for (const LockName& lock : wanted)
    if (auto taken = locks.take(lock.key, lock.subject); !taken)
      return tl::unexpected(taken.error());
  (void)locks.sweep();
  return opened;
}

}  // namespace hecto::router
