#include "config/machine/kernel.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace hecto::config {

Result<void> KernelCalls::load_module(const std::string& module) {
  std::string program = "modprobe", name = module;
  const std::array<char*, 3> arguments = {program.data(), name.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (const int code =
          posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
      code != 0)
    return fail(fmt::format("modprobe {}: {}", module, std::strerror(code)), code);
  if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  return fail(fmt::format("modprobe {} failed; is it part of this kernel?", module), ENODEV);
}

Result<void> KernelCalls::rename(const std::string& interface, const std::string& name) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  std::strncpy(request.ifr_newname, name.c_str(), IFNAMSIZ - 1);
  if (socket && ioctl(socket.get(), SIOCSIFNAME, &request) == 0) return {};
  const int number = errno;
  return fail(
      fmt::format("{} cannot be named {} again: {}", interface, name, std::strerror(number)),
      number);
}

std::vector<std::string> KernelCalls::addresses(const std::string& interface) const {
  std::vector<std::string> out;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || interface != each->ifa_name) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (each->ifa_addr->sa_family == AF_INET)
      address = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (each->ifa_addr->sa_family == AF_INET6)
      address = &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
    if (address != nullptr &&
        inet_ntop(each->ifa_addr->sa_family, address, text.data(), text.size()) != nullptr)
      out.emplace_back(text.data());
  }
  freeifaddrs(list);
  return out;
}

}  // namespace hecto::config
