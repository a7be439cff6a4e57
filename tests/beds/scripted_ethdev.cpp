#include "tests/beds/scripted_ethdev.hpp"

#include <cstdio>
#include <stdexcept>

#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

std::map<uint16_t, ScriptedEthdev*> scripted;
std::map<std::string, ScriptedEthdev*> by_name;
uint32_t with_link_interrupts = RTE_ETH_DEV_INTR_LSC, without = 0;

ScriptedEthdev* find(uint16_t port) {
  const auto found = scripted.find(port);
  return found == scripted.end() ? nullptr : found->second;
}

int told(const std::string& words, rte_eth_burst_mode* mode) {
  if (words.empty()) return -ENOTSUP;
  std::snprintf(mode->info, sizeof mode->info, "%s", words.c_str());
  return 0;
}

}  // namespace

ScriptedEthdev::ScriptedEthdev(const std::string& name, const EthdevScript& what)
    : script(what), name_("net_null_" + name) {
  pool();  // DPDK
  if (rte_eal_hotplug_add("vdev", name_.c_str(), "") != 0 ||
      rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0)
    throw std::runtime_error("no " + name_);
  scripted[id_] = by_name[name_] = this;
}

ScriptedEthdev::~ScriptedEthdev() {
  scripted.erase(id_);
  by_name.erase(name_);
}

config::PortConfig ScriptedEthdev::config(const std::string& port_name, uint16_t mtu) const {
  config::PortConfig config;
  config.name = port_name;
  config.device = name_;
  config.kind = config::DeviceKind::kPci;
  config.mtu = mtu;
  return config;
}

uint64_t ScriptedEthdev::tx_offloads(uint16_t queue) const {
  return asked.txmode.offloads | queue_offloads.at(queue);
}

void ScriptedEthdev::announce_link(bool up) {
  link_up = up;
  const Callback& callback = callbacks.at(RTE_ETH_EVENT_INTR_LSC);
  callback.function(id_, RTE_ETH_EVENT_INTR_LSC, callback.argument, nullptr);
}

void ScriptedEthdev::announce_removal() {
  remove();
}

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {

int __real_rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info* info);
int __wrap_rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info* info) {
  const int code = __real_rte_eth_dev_info_get(port, info);
  ScriptedEthdev* const nic = find(port);
  if (code != 0 || nic == nullptr) return code;
  info->driver_name = nic->script.driver.c_str();
  info->rx_offload_capa = nic->script.rx_offloads;
  info->tx_offload_capa = nic->script.tx_offloads;
  info->tx_queue_offload_capa = nic->script.tx_queue_offloads;
  info->max_tx_queues = nic->script.max_tx_queues;
  info->dev_flags = nic->script.link_interrupts ? &with_link_interrupts : &without;
  return 0;
}

// As rte_eth_dev_configure does it: what the driver cannot do is refused.
int __real_rte_eth_dev_configure(uint16_t port, uint16_t rx, uint16_t tx, const rte_eth_conf* conf);
int __wrap_rte_eth_dev_configure(uint16_t port, uint16_t rx, uint16_t tx,
                                 const rte_eth_conf* conf) {
  ScriptedEthdev* const nic = find(port);
  if (nic == nullptr) return __real_rte_eth_dev_configure(port, rx, tx, conf);
  nic->asked = *conf;
  if ((conf->txmode.offloads & ~nic->script.tx_offloads) != 0) return -EINVAL;
  if (conf->intr_conf.lsc != 0 && !nic->script.link_interrupts) return -EINVAL;
  if (tx > nic->script.max_tx_queues) return -EINVAL;
  const rte_eth_conf plain{};
  return __real_rte_eth_dev_configure(port, rx, tx, &plain);
}

int __real_rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors,
                                  unsigned socket, const rte_eth_txconf* conf);
int __wrap_rte_eth_tx_queue_setup(uint16_t port, uint16_t queue, uint16_t descriptors,
                                  unsigned socket, const rte_eth_txconf* conf) {
  ScriptedEthdev* const nic = find(port);
  if (nic == nullptr) return __real_rte_eth_tx_queue_setup(port, queue, descriptors, socket, conf);
  const uint64_t offloads = conf == nullptr ? 0 : conf->offloads;
  nic->queue_offloads[queue] = offloads;
  if ((offloads & ~(nic->script.tx_queue_offloads | nic->asked.txmode.offloads)) != 0)
    return -EINVAL;
  return __real_rte_eth_tx_queue_setup(port, queue, descriptors, socket, nullptr);
}

int __real_rte_eth_dev_start(uint16_t port);
int __wrap_rte_eth_dev_start(uint16_t port) {
  ScriptedEthdev* const nic = find(port);
  if (nic == nullptr) return __real_rte_eth_dev_start(port);
  nic->calls.emplace_back("start");
  if (nic->was_stopped && !nic->script.starts_again) return -EIO;
  if (nic->mtu == nic->script.no_start_with_mtu) return -EIO;
  nic->started = true;
  return __real_rte_eth_dev_start(port);
}

int __real_rte_eth_dev_stop(uint16_t port);
int __wrap_rte_eth_dev_stop(uint16_t port) {
  ScriptedEthdev* const nic = find(port);
  if (nic != nullptr) {
    nic->calls.emplace_back("stop");
    nic->started = false;
    nic->was_stopped = true;
    if (nic->on_stop) nic->on_stop();
  }
  return __real_rte_eth_dev_stop(port);
}

int __real_rte_eth_dev_set_mtu(uint16_t port, uint16_t mtu);
int __wrap_rte_eth_dev_set_mtu(uint16_t port, uint16_t mtu) {
  ScriptedEthdev* const nic = find(port);
  if (nic == nullptr) return __real_rte_eth_dev_set_mtu(port, mtu);
  nic->calls.push_back("mtu " + std::to_string(mtu));
  if (nic->started && nic->script.mtu_wants_stop) return -EBUSY;
  nic->mtu = mtu;
  return 0;
}

int __real_rte_eth_link_get_nowait(uint16_t port, rte_eth_link* link);
int __wrap_rte_eth_link_get_nowait(uint16_t port, rte_eth_link* link) {
  const int code = __real_rte_eth_link_get_nowait(port, link);
  if (ScriptedEthdev* const nic = find(port)) link->link_status = nic->link_up ? 1 : 0;
  return code;
}

int __real_rte_eth_dev_callback_register(uint16_t port, rte_eth_event_type event,
                                         rte_eth_dev_cb_fn function, void* argument);
int __wrap_rte_eth_dev_callback_register(uint16_t port, rte_eth_event_type event,
                                         rte_eth_dev_cb_fn function, void* argument) {
  if (ScriptedEthdev* const nic = find(port)) nic->callbacks[event] = {function, argument};
  return __real_rte_eth_dev_callback_register(port, event, function, argument);
}

int __real_rte_dev_event_callback_register(const char* name, rte_dev_event_cb_fn function,
                                           void* argument);
int __wrap_rte_dev_event_callback_register(const char* name, rte_dev_event_cb_fn function,
                                           void* argument) {
  const auto found = by_name.find(name);
  if (found != by_name.end())
    found->second->remove = [=] { function(name, RTE_DEV_EVENT_REMOVE, argument); };
  return __real_rte_dev_event_callback_register(name, function, argument);
}

int __real_rte_eth_rx_burst_mode_get(uint16_t port, uint16_t queue, rte_eth_burst_mode* mode);
int __wrap_rte_eth_rx_burst_mode_get(uint16_t port, uint16_t queue, rte_eth_burst_mode* mode) {
  ScriptedEthdev* const nic = find(port);
  return nic != nullptr ? told(nic->script.receive_path, mode)
                        : __real_rte_eth_rx_burst_mode_get(port, queue, mode);
}

int __real_rte_eth_tx_burst_mode_get(uint16_t port, uint16_t queue, rte_eth_burst_mode* mode);
int __wrap_rte_eth_tx_burst_mode_get(uint16_t port, uint16_t queue, rte_eth_burst_mode* mode) {
  ScriptedEthdev* const nic = find(port);
  return nic != nullptr ? told(nic->script.transmit_path, mode)
                        : __real_rte_eth_tx_burst_mode_get(port, queue, mode);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace hecto::router::test
