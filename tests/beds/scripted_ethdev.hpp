// A NIC that is not there: one of net_null's ports with another driver's name, capabilities and
// behavior. Calls to DPDK for it are taken by the linker's --wrap (tests/unit/meson.build), noted, and
// passed on as far as net_null knows them; other ports go by.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router::test {

struct EthdevScript {
  std::string driver = "net_null";
  uint64_t rx_offloads = 0;
  uint64_t tx_offloads = 0, tx_queue_offloads = 0;  // the latter are among the former
  uint16_t max_tx_queues = 64;
  bool link_interrupts = false;
  bool mtu_wants_stop = false;
  bool starts_again = true;  // once it was stopped
  uint16_t no_start_with_mtu = 0;
  std::string receive_path{}, transmit_path{};
};

class ScriptedEthdev {
 public:
  ScriptedEthdev(const std::string& name, const EthdevScript& script);
  ~ScriptedEthdev();
  ScriptedEthdev(const ScriptedEthdev&) = delete;
  ScriptedEthdev& operator=(const ScriptedEthdev&) = delete;

  // As of a PCI device.
  config::PortConfig config(const std::string& port_name, uint16_t mtu = 1500) const;
  uint64_t tx_offloads(uint16_t queue) const;  // that the queue was set up with
  void announce_link(bool up);                 // by interrupt
  void announce_removal();                     // by the bus

  EthdevScript script;
  rte_eth_conf asked{};
  std::map<uint16_t, uint64_t> queue_offloads;
  std::vector<std::string> calls;  // start, stop, mtu
  std::function<void()> on_stop;
  bool link_up = true;

  struct Callback {
    rte_eth_dev_cb_fn function;
    void* argument;
  };
  std::map<rte_eth_event_type, Callback> callbacks;
  std::function<void()> remove;
  bool started = false, was_stopped = false;
  uint16_t mtu = 1500;

 private:
  std::string name_;
  uint16_t id_ = 0;
};

}  // namespace hecto::router::test
