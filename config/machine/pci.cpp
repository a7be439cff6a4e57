#include "config/machine/pci.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <set>
#include <sstream>

namespace hecto::config {
namespace {

// Interfaces of the device, and what is built upon them: VLANs, bonds, bridges.
void add_with_uppers(const MachineFiles& files, const std::string& name,
                     std::set<std::string>& names) {
  if (!names.insert(name).second) return;
  constexpr std::string_view kUpper = "upper_";
  for (const std::string& entry : files.names("/sys/class/net/" + name))
    if (entry.starts_with(kUpper)) add_with_uppers(files, entry.substr(kUpper.size()), names);
}

std::set<std::string> default_route_interfaces(const MachineFiles& files) {
  std::set<std::string> names;
  std::istringstream ipv4(files.text("/proc/net/route").value_or(""));
  for (std::string line; std::getline(ipv4, line);) {
    std::istringstream words(line);
    std::string name, to, gateway, flags, references, use, metric, mask;
    if (words >> name >> to >> gateway >> flags >> references >> use >> metric >> mask &&
        to == "00000000" && mask == "00000000")
      names.insert(name);
  }
  std::istringstream ipv6(files.text("/proc/net/ipv6_route").value_or(""));
  for (std::string line; std::getline(ipv6, line);) {
    std::istringstream words(line);
    std::string to, length, skipped, name;
    words >> to >> length;
    for (int i = 0; i < 7; ++i) words >> skipped;
    if (words >> name && to == std::string(32, '0') && length == "00" && name != "lo")
      names.insert(name);
  }
  return names;
}

// "0100007F" is 127.0.0.1: words of 32 bits, each in the machine's order.
std::string address_of(const std::string& hex) {
  std::array<uint32_t, 4> words{};
  const size_t count = hex.size() / 8;
  if (hex.size() % 8 != 0 || (count != 1 && count != 4)) return {};
  for (size_t i = 0; i < count; ++i)
    if (std::sscanf(hex.c_str() + 8 * i, "%8x", &words[i]) != 1) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(count == 1 ? AF_INET : AF_INET6, words.data(), text.data(), text.size()) == nullptr)
    return {};
  const std::string out = text.data();
  constexpr std::string_view kMapped = "::ffff:";
  return out.starts_with(kMapped) ? out.substr(kMapped.size()) : out;
}

// Our ends of the connections to port 22.
std::set<std::string> ssh_addresses(const MachineFiles& files) {
  std::set<std::string> out;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(files.text(file).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      const size_t colon = local.find(':');
      if (state == "01" && colon != std::string::npos && local.substr(colon) == ":0016")
        out.insert(address_of(local.substr(0, colon)));
    }
  }
  return out;
}

}  // namespace

std::string device_folder(const std::string& pci) {
  return "/sys/bus/pci/devices/" + pci;
}

std::string driver_of(const MachineFiles& files, const std::string& pci) {
  return files.target(device_folder(pci) + "/driver");
}

std::vector<std::string> interfaces_of(const MachineFiles& files, const std::string& pci) {
  std::vector<std::string> out = files.names(device_folder(pci) + "/net");
  for (const std::string& entry : files.names(device_folder(pci)))
    if (entry.starts_with("virtio"))
      for (const std::string& name : files.names(device_folder(pci) + "/" + entry + "/net"))
        out.push_back(name);
  return out;
}

bool keeps_kernel_driver(const std::string& driver) {
  return driver == "mlx5_core" || driver == "mlx4_core";
}

Result<std::string> resolve(const MachineFiles& files, const std::string& device) {
  std::string lower = device;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string& pci : {lower, "0000:" + lower})
    if (pci.find('/') == std::string::npos && lower.find(':') != std::string::npos &&
        files.exists(device_folder(pci)))
      return pci;
  if (device.find_first_of("/:") == std::string::npos) {
    for (const std::string& pci : files.names("/sys/bus/pci/devices")) {
      const auto names = interfaces_of(files, pci);
      if (std::ranges::find(names, device) != names.end()) return pci;
    }
    if (files.exists("/sys/class/net/" + device))
      return fail(device + " is no PCI device: nothing to bind; a port takes it as it is");
  }
  return fail(device +
              ": this machine has no such device; lspci -D and ip link list those there are");
}

std::string carries(const MachineFiles& files, const KernelCalls& kernel, const std::string& pci,
                    const std::string& session_address) {
  std::set<std::string> names;
  for (const std::string& name : interfaces_of(files, pci)) add_with_uppers(files, name, names);
  const auto defaults = default_route_interfaces(files);
  auto sessions = ssh_addresses(files);
  if (!session_address.empty()) sessions.insert(session_address);
  for (const std::string& name : names) {
    if (defaults.contains(name)) return fmt::format("the default route goes by {}", name);
    for (const std::string& address : kernel.addresses(name))
      if (sessions.contains(address))
        return fmt::format("an SSH session comes in at {} of {}", address, name);
  }
  return {};
}

std::vector<std::string> group_companions(const MachineFiles& files, const std::string& pci,
                                          const std::vector<std::string>& taken) {
  std::vector<std::string> out;
  for (const std::string& other : files.names(device_folder(pci) + "/iommu_group/devices")) {
    const std::string driver = driver_of(files, other);
    // Bridges stay with the kernel, and may.
    if (other != pci && !driver.empty() && driver != kVfio && driver != "pcieport" &&
        std::ranges::find(taken, other) == taken.end())
      out.push_back(fmt::format("{} ({})", other, driver));
  }
  return out;
}

}  // namespace hecto::config
