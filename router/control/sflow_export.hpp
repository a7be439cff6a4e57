// What collectors of sFlow are told: samples of packets as the workers took them, with the route that
// they have now, and the counters of ports. Control only.
//
// What rules of the filters choose is told by a sub-agent of its own, so that no collector adds it to what the
// ports' samples stand for.
//
// A port is the data source of what comes in by it and by its VLANs; its ifIndex is that of its twin
// in Linux, without a Linux side the number of its interface and one.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/file/config.hpp"
#include "router/dataplane/observe/flow_samples.hpp"
#include "router/rib/routing_views.hpp"
#include "router/sflow/collector.hpp"
#include "router/sflow/datagram.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceTable;
class NetworkNamespace;
class Routing;
class Sampler;

class SflowExport {
 public:
  using Clock = std::chrono::steady_clock;
  struct Sources {
    const ForwardingPlane& plane;
    const InterfaceTable& interfaces;
    const Routing& routing;
    const Sampler& sampler;
  };
  struct Port {  // that is there
    std::string name;
    uint32_t ifindex = 0;
    bool exported = false;               // the file does not leave it out
    uint32_t samples = 0, counters = 0;  // sent: the sequences of the data source
    uint32_t chosen = 0;                 // likewise, of filters' rules
  };

  explicit SflowExport(const Sources& sources);
  void attach(const NetworkNamespace& linux_side) { linux_side_ = &linux_side; }

  // True: it is another one. Collectors that stay keep their counts.
  bool configure(const config::SflowConfig& config);
  bool on() const { return !config_.collectors.empty(); }
  const config::SflowConfig& config() const { return config_; }

  void look_at_ports();               // which there are; about once a second
  uint64_t ports() const;             // whose packets are wanted, a bit each
  const Port* port(PortId id) const;  // null: there is none
  // False: its port has gone.
  bool add(const FlowRecord& record, std::span<const std::byte> header, const FlowTaps& taps,
           Clock::time_point now);
  void send_counters(Clock::time_point now);  // of those whose turn it is
  void flush(Clock::time_point now);

  uint64_t exported() const { return exported_; }  // samples of packets
  uint64_t datagrams() const { return uint64_t{datagrams_.sequence()} + chosen_.sequence(); }
  const std::optional<IpAddress>& agent() const { return agent_; }
  const std::vector<Collector>& collectors() const { return collectors_; }
  const std::array<std::optional<Port>, kMaxPorts>& all_ports() const { return ports_; }
  std::vector<std::string> lines() const;  // what is wrong

 private:
  struct Way {  // out of a next-hop group
    PortId port;
    std::optional<IpAddress> gateway;
  };
  std::optional<IpAddress> choose_agent() const;
  SflowOutput output_of(const FlowRecord& record) const;
  std::optional<SflowRouter> router_of(const FlowRecord& record, std::span<const std::byte> header);
  uint32_t table_of(PortId port, const VlanTags& tags);
  const std::vector<Way>& ways_of(lookup::GroupId group);
  void send_counters(PortId id, Port& port);
  void send(std::span<const std::byte> datagram);

  const Sources sources_;
  const NetworkNamespace* linux_side_ = nullptr;
  config::SflowConfig config_;
  std::optional<IpAddress> agent_;
  std::vector<Collector> collectors_;
  std::array<std::optional<Port>, kMaxPorts> ports_;
  SflowDatagrams datagrams_, chosen_;  // the latter: by filters' rules
  uint64_t exported_ = 0;
  Clock::time_point counted_{};  // until then counters have been sent
  // What a second's samples have asked.
  std::unordered_map<uint64_t, uint32_t> tables_;
  std::unordered_map<lookup::GroupId, std::vector<Way>> ways_;
};

}  // namespace hecto::router
