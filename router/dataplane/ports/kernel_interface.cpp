#include "router/dataplane/ports/kernel_interface.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "router/dataplane/ports/interface_features.hpp"

namespace hecto::router {
namespace {

// One ioctl on an interface by name.
class Request {
 public:
  explicit Request(const std::string& name)
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  }
  ~Request() {
    if (socket_ >= 0) close(socket_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  bool call(unsigned long number) { return socket_ >= 0 && ioctl(socket_, number, &request) == 0; }

  ifreq request{};

 private:
  int socket_;
};

}  // namespace

std::string KernelInterface::sysfs(const char* file) const {
  return fmt::format("/sys/class/net/{}/{}", name_, file);
}

KernelInterface::KernelInterface(std::string name)
    : name_(std::move(name)), index_(if_nametoindex(name_.c_str())) {}

bool KernelInterface::exists() const {
  return index_ != 0 && if_nametoindex(name_.c_str()) == index_;
}

// IFF_RUNNING follows the driver's carrier by a work item of the kernel (linkwatch), up to a second late.
bool KernelInterface::carrier() const {
  Request r(name_);
  if (!r.call(SIOCGIFFLAGS) || (r.request.ifr_flags & IFF_UP) == 0) return false;
  return (r.request.ifr_flags & IFF_RUNNING) != 0 || carrier_now();
}

bool KernelInterface::carrier_now() const {
  Request r(name_);
  if (!r.call(SIOCGIFFLAGS) || (r.request.ifr_flags & IFF_UP) == 0) return false;
  ::ethtool_value link{ETHTOOL_GLINK, 0};
  r.request.ifr_data = reinterpret_cast<char*>(&link);
  return r.call(SIOCETHTOOL) && link.data != 0;
}

bool KernelInterface::address_in_use() const {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* a = list; a != nullptr; a = a->ifa_next)
    found |= a->ifa_addr != nullptr && a->ifa_addr->sa_family == AF_INET && name_ == a->ifa_name;
  freeifaddrs(list);
  return found;
}

Result<void> KernelInterface::set_up() {
  Request r(name_);
  if (r.call(SIOCGIFFLAGS)) {
    if (r.request.ifr_flags & IFF_UP) return {};
    r.request.ifr_flags = static_cast<short>(r.request.ifr_flags | IFF_UP);
    if (r.call(SIOCSIFFLAGS)) return {};
  }
  return fail(fmt::format("{}: cannot set it up: {}", name_, strerror(errno)), errno);
}

Result<void> KernelInterface::set_mtu(uint16_t mtu) {
  Request r(name_);
  r.request.ifr_mtu = mtu;
  if (r.call(SIOCSIFMTU)) return {};
  return fail(fmt::format("{}: cannot set MTU {}: {}", name_, mtu, strerror(errno)), errno);
}

Result<uint16_t> KernelInterface::mtu() const {
  Request r(name_);
  if (r.call(SIOCGIFMTU)) return static_cast<uint16_t>(std::min(r.request.ifr_mtu, 65535));
  return fail(fmt::format("{}: cannot read the MTU: {}", name_, strerror(errno)), errno);
}

Result<void> KernelInterface::set_promiscuous(bool on) {
  Request r(name_);
  if (r.call(SIOCGIFFLAGS)) {
    const int flags = on ? r.request.ifr_flags | IFF_PROMISC : r.request.ifr_flags & ~IFF_PROMISC;
    r.request.ifr_flags = static_cast<short>(flags);
    if (r.call(SIOCSIFFLAGS)) return {};
  }
  return fail(fmt::format("{}: cannot change promiscuous mode: {}", name_, strerror(errno)), errno);
}

Result<MacAddress> KernelInterface::mac() const {
  Request r(name_);
  if (!r.call(SIOCGIFHWADDR))
    return fail(fmt::format("{}: cannot read its MAC: {}", name_, strerror(errno)), errno);
  MacAddress mac;
  std::memcpy(mac.data(), r.request.ifr_hwaddr.sa_data, mac.size());
  return mac;
}

Result<void> KernelInterface::set_mac(const MacAddress& mac) {
  Request r(name_);
  r.request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(r.request.ifr_hwaddr.sa_data, mac.data(), mac.size());
  if (r.call(SIOCSIFHWADDR)) return {};
  return fail(fmt::format("{}: cannot set MAC {}: {}", name_, to_string(mac), strerror(errno)),
              errno);
}

// Of this process's namespace, which /sys may not be.
uint32_t KernelInterface::speed_mbps() const {
  ::ethtool_cmd link{};
  link.cmd = ETHTOOL_GSET;
  Request r(name_);
  r.request.ifr_data = reinterpret_cast<char*>(&link);
  const uint32_t speed = r.call(SIOCETHTOOL) ? ethtool_cmd_speed(&link) : 0;
  return speed == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

int KernelInterface::numa_node() const {
  int node = -1;
  std::ifstream(sysfs("device/numa_node")) >> node;
  return node;
}

std::vector<std::string> KernelInterface::make_transparent() {
  std::vector<std::string> refused = turn_off_receive_offloads(name_);
  std::ofstream ipv6(fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", name_));
  ipv6 << 1 << std::flush;
  if (!ipv6) refused.emplace_back("the kernel's IPv6 could not be turned off on it");
  return refused;
}

}  // namespace hecto::router
