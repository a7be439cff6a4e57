// How a port wakes a worker that waits: by descriptors that become readable when packets have come.
// Sockets of AF_XDP and AF_PACKET are such, though DPDK's drivers tell of none; of all others it is
// what their receive interrupts write to, where the driver has them and was set up with them.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::router {

std::vector<int> open_sockets(int domain) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    int fd = -1, is = 0;
    socklen_t bytes = sizeof is;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &is, &bytes) == 0 && is == domain)
      found.push_back(fd);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int> open_sockets_since(const std::vector<int>& before, int domain) {
  std::vector<int> found = open_sockets(domain);
  std::erase_if(found,
                [&](int fd) { return std::binary_search(before.begin(), before.end(), fd); });
  return found;
}

// Those of AF_PACKET came with the port, all at once: which is which queue's nobody tells, and each
// wakes the workers of all.
void Port::find_wakeups() {
  interrupts_ = false;
  no_wakeup_.clear();
  if (driver_ == "net_af_packet") wakeups_.assign(rx_queues_, packet_sockets_);
  if (bond_ && bond_->all_kernel()) wakeups_.assign(rx_queues_, bond_->sockets());
  const bool by_socket = af_xdp() || driver_ == "net_af_packet" || bond_;
  if (!by_socket) find_interrupts();
  const bool every = wakeups_.size() == rx_queues_ &&
                     std::none_of(wakeups_.begin(), wakeups_.end(),
                                  [](const auto& queue) { return queue.empty(); });
  if (every) return;
  wakeups_.clear();
  interrupts_ = false;
  if (bond_) no_wakeup_ = "net_bonding does not pass on its members' receive interrupts";
  if (no_wakeup_.empty()) no_wakeup_ = fmt::format("no socket of {} was found", driver_);
}

// Tried once, as many drivers know only then. Those whose descriptor is the device itself (net_tap)
// have nothing to be asked for.
void Port::find_interrupts() {
  wakeups_.clear();
  if (!asks_interrupts_) {
    no_wakeup_ = "it was set up without receive interrupts: restart, or add the port anew";
    return;
  }
  for (QueueId queue = 0; queue < rx_queues_; ++queue) {
    const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(id_, queue);
    const int code = fd < 0 ? -ENOTSUP : rte_eth_dev_rx_intr_enable(id_, queue);
    if (code == 0) rte_eth_dev_rx_intr_disable(id_, queue);
    if (fd < 0 || (code != 0 && code != -ENOTSUP)) {
      no_wakeup_ = fd < 0 ? fmt::format("the driver {} has no receive interrupts", driver_)
                          : fmt::format("the driver {} refused receive interrupts: {}", driver_,
                                        dpdk_error(code));
      return;
    }
    interrupts_ = code == 0;
    wakeups_.push_back({fd});
  }
}

bool Port::forgo_interrupts(const std::string& why) {
  if ((!asks_interrupts_ && !link_interrupts_) || forgoes_interrupts_ || kernel_) return false;
  forgoes_interrupts_ = true;
  asked_.clear();
  given_.clear();
  refused_.clear();
  refuse((asks_interrupts_ ? "receive interrupts: " : "link interrupts: ") + why);
  return true;
}

}  // namespace hecto::router
