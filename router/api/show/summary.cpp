// summary, config, plan: what runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/capacity/capacity.hpp"
#include "config/file/load.hpp"
#include "config/file/load_ports.hpp"
#include "config/file/to_yaml.hpp"
#include "lookup/kernels.hpp"
#include "router/api/capacity_json.hpp"
#include "router/api/plan_json.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/linux/mirror_base.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json table_json(const char* family, const lookup::FibStatistics& s, size_t replicas) {
  return {{"family", family},           {"prefixes", s.prefixes},
          {"engine", s.engine},         {"used_bytes", s.used_bytes},
          {"bytes", s.bytes},           {"replicas", replicas},
          {"generation", s.generation}, {"isa", lookup::to_string(lookup::kernels().isa)}};
}

json mirror_json(const LinuxSide* side) {
  if (side == nullptr) return nullptr;
  const MirrorStats& stats = side->mirror_stats();
  std::string state = side->mirror_synchronized() ? "in sync" : "resyncing";
  if (!stats.last_error.empty()) state = stats.last_error;
  return {{"state", state},
          {"resyncs", stats.resyncs},
          {"overruns", stats.overruns},
          {"messages", stats.messages},
          {"last_resync", stats.last_reason}};
}

json rates_json(const Sampler& sampler) {
  const Totals& now = sampler.now();
  const Totals& before = sampler.before();
  uint64_t rx_bytes[2] = {0, 0}, tx_bytes[2] = {0, 0};
  for (size_t i = 0; i < kMaxPorts; ++i) {
    rx_bytes[0] += now.ports[i].rx_bytes;
    rx_bytes[1] += before.ports[i].rx_bytes;
    tx_bytes[0] += now.ports[i].tx_bytes;
    tx_bytes[1] += before.ports[i].tx_bytes;
  }
  return {{"rx_pps", sampler.rate(now.received, before.received)},
          {"tx_pps", sampler.rate(now.transmitted, before.transmitted)},
          {"punt_pps", sampler.rate(now.punted_total(), before.punted_total())},
          {"drop_pps", sampler.rate(now.dropped_total(), before.dropped_total())},
          {"rx_bps", sampler.rate(rx_bytes[0], rx_bytes[1]) * 8},
          {"tx_bps", sampler.rate(tx_bytes[0], tx_bytes[1]) * 8}};
}

}  // namespace

json show_summary(const Summary& s) {
  const config::Placement& placement = s.running.placement;
  const size_t replicas = placement.sockets.size();
  const std::vector<PortStatus> ports = s.plane.ports();
  unsigned ports_up = 0;
  for (const PortStatus& port : ports) ports_up += port.link.up;
  return {
      {"version", HECTO_VERSION},
      {"dpdk_version", Eal::version()},
      {"pid", getpid()},
      {"uptime_s", s.uptime.count()},
      {"config_file", s.running.config.file},
      {"namespace", s.linux_side == nullptr ? json() : json(s.linux_side->name())},
      {"control_cpu", placement.control_cpu},
      {"sockets", placement.sockets},
      {"workers", s.plane.workers().size()},
      {"ports", ports.size()},
      {"ports_up", ports_up},
      {"tables",
       {table_json("ipv4", s.tables.ipv4, replicas), table_json("ipv6", s.tables.ipv6, replicas)}},
      {"groups_used", s.tables.groups},
      {"groups_max", s.tables.max_groups},
      {"mirror", mirror_json(s.linux_side)},
      {"rates", rates_json(s.sampler)},
      {"warnings", s.warnings}};
}

json show_config(const Running& running, const ForwardingPlane& plane) {
  const config::Config& c = running.config;
  json effective = json::array();
  const auto add = [&](const std::string& key, const std::string& value, const char* origin) {
    effective.push_back({{"key", key}, {"value", value}, {"origin", origin}});
  };
  std::string workers;
  for (const auto& worker : running.placement.workers)
    workers += fmt::format("{}{}", workers.empty() ? "" : ", ", worker.cpu);
  add("workers", workers, c.workers.empty() ? "auto" : "file");
  add("control_core", std::to_string(running.placement.control_cpu),
      c.control_core ? "file" : "auto");
  for (const PortStatus& port : plane.ports()) {
    add(fmt::format("ports.{}.queues", port.name()), std::to_string(port.rx_queues),
        port.config.rx_queues ? "file" : "auto");
    add(fmt::format("ports.{}.mtu", port.name()), std::to_string(port.mtu), "file");
  }
  return {{"file", c.file},
          {"loaded_unix_s", running.loaded_unix_s},
          {"yaml", config::to_yaml(c)},
          {"effective", effective}};
}

// Of the NICs those that have a port have a part in what the box carries.
json show_plan(const Running& running) {
  config::Topology used = running.topology;
  std::erase_if(used.nics, [&](const config::Nic& nic) {
    return std::ranges::none_of(running.config.ports, [&](const config::PortConfig& port) {
      return std::ranges::any_of(config::devices_of(port), [&](const std::string& device) {
        return device == nic.pci || device == nic.interface;
      });
    });
  });
  const config::Box box = config::box_of(used);
  const auto setup = config::setup_of(box, running.config, used, running.placement);
  json answer = plan_json(running.placement,
                          config::describe(running.placement, running.config, running.topology));
  answer["topology"] = topology_json(running.topology);
  answer["capacity"] = capacity_json(box, setup, config::capacity_of(box, setup));
  return answer;
}

}  // namespace hecto::router
