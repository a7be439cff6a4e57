// The ports of a generator with their buffers: DPDK started, devices opened, links up, the MAC
// addresses of gateways learned. Control thread only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/traffic/generator.hpp"
#include "bench/traffic/neighbors.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/memif_guard.hpp"
#include "router/dataplane/ports/mempool.hpp"
#include "router/dataplane/ports/poller.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::bench {

class PortSet {
 public:
  static Result<std::unique_ptr<PortSet>> open(const TrafficSpec& spec,
                                               const GeneratorOptions& options,
                                               const std::vector<unsigned>& cpus);

  size_t size() const { return ports_.size(); }
  size_t index(const std::string& name) const;  // of a name that check_traffic has found
  const TrafficPort& spec(size_t i) const { return specs_[i]; }
  router::Port& port(size_t i) const { return *ports_[i]; }
  const PortAddresses& own(size_t i) const { return own_[i]; }
  rte_mempool* zeroed() const { return transmit_->get(); }
  rte_mempool* replay() const { return receive_->get(); }
  uint16_t longest_frame_bytes() const { return longest_frame_bytes_; }
  // Of the thread on the CPU of that place: a memif that goes waits for its burst. Null: none does.
  router::Poller* poller(size_t i) { return i < pollers_.size() ? &pollers_[i] : nullptr; }
  // 0: not known, or without one.
  uint64_t line_bps(size_t i) const;

  bool present() const;  // all devices: none has gone
  // What has become of the ports, in one line; empty while all have a link.
  std::string complaint() const;

  // Asks the gateways of a port, in a VLAN or none, for their MAC addresses, which are kept. While
  // it waits it answers, too, and throws away what else comes. `stop` ends it early.
  Result<void> learn(size_t port, std::optional<uint16_t> vlan, const GeneratorOptions& options);
  // A gateway's of that family, learned before.
  std::optional<MacAddress> gateway_mac(size_t port, std::optional<uint16_t> vlan,
                                        lookup::Family family) const;

 private:
  using Key = std::tuple<size_t, std::optional<uint16_t>, lookup::IpAddress>;

  PortSet() = default;
  Result<void> start_eal(const std::vector<unsigned>& cpus);
  Result<void> open_port(TrafficPort spec);
  Result<void> wait_for_links(const GeneratorOptions& options) const;
  void ask(size_t port, std::optional<uint16_t> vlan, const lookup::IpAddress& gateway);
  void listen(size_t port, std::optional<uint16_t> vlan);

  std::unique_ptr<router::Eal> eal_;
  std::deque<router::Poller> pollers_;
  std::unique_ptr<router::Mempool> transmit_, receive_;  // the first has zeros in all its buffers
  std::vector<TrafficPort> specs_;
  std::vector<std::unique_ptr<router::Port>> ports_;
  std::unique_ptr<router::MemifGuard> guard_;
  std::vector<PortAddresses> own_;
  std::map<Key, MacAddress> gateways_;
  uint32_t transmit_mbufs_ = 0, receive_mbufs_ = 0, data_room_bytes_ = 0;
  uint16_t longest_frame_bytes_ = 0;
};

}  // namespace hecto::bench
