// sFlow, IPFIX, and the flows that samples tell of.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/reason.hpp"
#include "config/file/ipsec.hpp"
#include "config/file/sflow.hpp"
#include "router/api/backend.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/sample_control.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json show_collector(const Collector& collector, const char* sent,
                    Collector::Clock::time_point now) {
  const Collector::Counts& counts = collector.counts();
  const std::string trouble = collector.trouble(now);
  return {{"address", to_string(collector.endpoint())},
          {sent, counts.datagrams},
          {"bytes", counts.bytes},
          {"refused", counts.refused},
          {"failed", counts.failed},
          {"trouble", trouble.empty() ? json() : json(trouble)}};
}

json show_collectors(const std::vector<Collector>& collectors, const char* sent) {
  const auto now = SampleControl::Clock::now();
  json list = json::array();
  for (const Collector& collector : collectors)
    list.push_back(show_collector(collector, sent, now));
  return list;
}

json address_json(const std::optional<lookup::IpAddress>& address) {
  return address ? json(address->to_string()) : json();
}

json port_json(uint16_t port) {
  return port == 0 ? json() : json(port);
}

std::string protocol_of(const SampledFlow& flow) {
  if (flow.source_address()) return config::protocol_text(flow.protocol);
  return fmt::format("{:#06x}", flow.ether_type);
}

std::string way_in(const SampledFlow& flow, const ForwardingPlane& plane,
                   const InterfaceTable& interfaces) {
  if (const Interface* interface = interfaces.find(flow.port, flow.tags)) return interface->name;
  return plane.port_name(flow.port).value_or(fmt::format("port {}", flow.port.value()));
}

json way_out(const SampledFlow& flow, const ForwardingPlane& plane) {
  switch (flow.fate) {
    case SampleFate::kForwarded:
      return plane.port_name(flow.egress).value_or(fmt::format("port {}", flow.egress.value()));
    case SampleFate::kPunted:
      return fmt::format("Linux ({})", info(flow.reason).name);
    case SampleFate::kDropped:
      return fmt::format("dropped ({})", info(flow.reason).name);
    case SampleFate::kUnknown:
      break;
  }
  return {};
}

json rates_json(const FlowSum& sum, unsigned seconds) {
  return {{"samples", sum.samples},
          {"pps", seconds == 0 ? 0 : sum.packets / seconds},
          {"bps", seconds == 0 ? 0 : sum.bytes * 8 / seconds}};
}

}  // namespace

json show_sflow(const SampleControl& samples) {
  const SflowExport& sflow = samples.sflow();
  const config::SflowConfig& config = sflow.config();
  const SampleControl::Counts counts = samples.counts();
  json ports = json::array();
  if (sflow.on())
    for (const SampleControl::PortCounts& port : counts.ports)
      ports.push_back({{"name", port.name},
                       {"ifindex", port.ifindex},
                       {"packets", port.packets},
                       {"samples", port.taken}});
  return {{"on", sflow.on()},
          {"agent", address_json(sflow.agent())},
          {"from", to_string(config.from)},
          {"sampling", config.sampling},
          {"polling_s", config.polling_s},
          {"header_bytes", config.header_bytes},
          {"samples",
           {{"taken", counts.taken},
            {"exported", sflow.exported()},
            {"dropped", counts.lost},
            {"waiting", counts.waiting}}},
          {"datagrams", sflow.datagrams()},
          {"ports", std::move(ports)},
          {"collectors", show_collectors(sflow.collectors(), "datagrams")}};
}

json show_ipfix(const SampleControl& samples) {
  const IpfixExport& ipfix = samples.ipfix();
  const config::IpfixConfig& config = ipfix.config();
  const IpfixExport::Counts counts = ipfix.counts();
  json out = {{"on", ipfix.on()},
              {"records", to_string(config.records)},
              {"from", to_string(config.from)},
              {"sampling", config.sampling},
              {"active_s", config.active_s},
              {"idle_s", config.idle_s},
              {"domain", config.domain},
              {"templates_s", config.templates_s},
              {"messages", ipfix.messages()},
              {"samples", nullptr},
              {"flows",
               {{"told", counts.records},
                {"before_time", counts.before_time},
                {"lost", counts.lost},
                {"under_way", counts.flows},
                {"room", counts.room},
                {"memory_bytes", counts.memory_bytes}}},
              {"collectors", show_collectors(ipfix.collectors(), "messages")}};
  if (ipfix.samples())
    out["samples"] = {{"read", counts.read},
                      {"told", counts.told},
                      {"under_way", counts.under_way},
                      {"no_flow", counts.no_flow},
                      {"dropped", samples.counts().no_room}};
  return out;
}

json show_top_flows(const SampleControl& samples, const FlowsQuery& query,
                    const ForwardingPlane& plane, const InterfaceTable& interfaces) {
  const TopFlows::Answer answer = samples.flows().top(query.seconds, query.by_packets, query.limit,
                                                      SampleControl::Clock::now());
  json flows = json::array();
  FlowSum shown;
  for (const TopFlows::Row& row : answer.flows) {
    const SampledFlow& flow = row.flow;
    json each = rates_json(row.sum, answer.seconds);
    each["source"] = address_json(flow.source_address());
    each["destination"] = address_json(flow.destination_address());
    each["protocol"] = protocol_of(flow);
    each["source_port"] = port_json(flow.source_port);
    each["destination_port"] = port_json(flow.destination_port);
    each["in"] = way_in(flow, plane, interfaces);
    each["out"] = way_out(flow, plane);
    each["error_percent"] = std::ceil(row.sum.error_percent());
    flows.push_back(std::move(each));
    shown.add(row.sum);
  }
  FlowSum others = answer.all;
  others.samples -= shown.samples;
  others.packets -= shown.packets;
  others.bytes -= shown.bytes;
  return {{"seconds", answer.seconds},
          {"by", query.by_packets ? "packets" : "bytes"},
          {"sampling", samples.sampling().rate},
          {"ports", samples.all_ports_sampled() ? json("all") : json("those of sflow")},
          {"flows", std::move(flows)},
          {"total", rates_json(answer.all, answer.seconds)},
          {"others", rates_json(others, answer.seconds)},
          {"known", answer.known}};
}

}  // namespace hecto::router
