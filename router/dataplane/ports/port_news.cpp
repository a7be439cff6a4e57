#include "router/dataplane/ports/port_news.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::router {
namespace {

int link_changed(uint16_t, rte_eth_event_type, void*, void*) {
  PortNews::of_process().tell();
  return 0;
}

void mark_removed(void* flag) {
  static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_relaxed);
  PortNews::of_process().tell();
}

// Said by the driver (mlx5: its device has died).
int port_removed(uint16_t, rte_eth_event_type, void* flag, void*) {
  mark_removed(flag);
  return 0;
}

// Said by the bus: VFIO asks to let go of the device, and takes it when that is done.
void device_removed(const char*, rte_dev_event_type event, void* flag) {
  if (event == RTE_DEV_EVENT_REMOVE) mark_removed(flag);
}

}  // namespace

PortNews::PortNews() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) throw std::system_error(errno, std::generic_category(), "news of ports");
}

PortNews& PortNews::of_process() {
  static PortNews news;
  return news;
}

void PortNews::tell() noexcept {
  (void)eventfd_write(bell_.get(), 1);
}

void PortNews::take() noexcept {
  eventfd_t count = 0;
  (void)eventfd_read(bell_.get(), &count);
}

// Behind it none of them runs: DPDK says "again" of one that is on its way.
void Port::watch_events(bool on) {
  if (on) {
    PortNews::of_process();
    rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_RMV, port_removed, &removed_);
    rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_LSC, link_changed, this);
    if (config_.kind == config::DeviceKind::kPci)
      rte_dev_event_callback_register(device_.c_str(), device_removed, &removed_);
    return;
  }
  while (rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_RMV, port_removed, &removed_) ==
         -EAGAIN) {
  }
  while (rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_LSC, link_changed, this) ==
         -EAGAIN) {
  }
  if (config_.kind != config::DeviceKind::kPci) return;
  while (rte_dev_event_callback_unregister(device_.c_str(), device_removed, &removed_) == -EAGAIN) {
  }
}

}  // namespace hecto::router
