#include "config/file/load_sflow.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

bool is_link_local(const lookup::IpAddress& address) {
  return address.family == lookup::Family::kIpv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0) == 0x80;
}

bool is_multicast(const lookup::IpAddress& address) {
  return address.family == lookup::Family::kIpv6 ? address.bytes[0] == 0xff
                                                 : address.bytes[0] >= 224;
}

bool is_unspecified(const lookup::IpAddress& address) {
  const size_t bytes = address.family == lookup::Family::kIpv6 ? 16 : 4;
  return std::all_of(address.bytes.begin(), address.bytes.begin() + bytes,
                     [](uint8_t byte) { return byte == 0; });
}

std::optional<HttpEndpoint> collector_of(const std::string& text, uint16_t port) {
  std::string_view host = text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const auto address = lookup::IpAddress::parse(host)) return HttpEndpoint{*address, port};
  return parse_endpoint(text);
}

void read_collector(const Value& item, uint16_t port, std::vector<HttpEndpoint>& collectors) {
  const std::string right = fmt::format("192.0.2.5:{0} or \"[2001:db8::5]:{0}\"", port);
  const auto text = item.text(right);
  if (!text) return;
  const auto collector = collector_of(*text, port);
  if (!collector)
    item.refuse(fmt::format("is no address with a port; use {}", right));
  else if (collector->port == 0)
    item.refuse(fmt::format("has no port; use 1 to 65535, as {}", right));
  else if (is_unspecified(collector->address) || is_multicast(collector->address))
    item.refuse(fmt::format("is no host's address; use {}", right));
  else if (is_link_local(collector->address))
    item.refuse("is a link-local address, of which nobody knows the link; use a global one");
  else if (std::find(collectors.begin(), collectors.end(), *collector) != collectors.end())
    item.complain(fmt::format("{} is named twice; name it once", to_string(*collector)));
  else
    collectors.push_back(*collector);
}

void read_agent(const Value& value, SflowConfig& sflow) {
  if (value.is_word("auto")) return;
  if (const auto address = read_unicast(value)) sflow.agent = *address;
}

void read_port(const Value& item, const Config& config, std::vector<std::string>& ports) {
  const auto name = item.text("a name under ports");
  if (!name) return;
  std::vector<std::string_view> known;
  for (const PortConfig& port : config.ports) known.push_back(port.name);
  if (std::find(known.begin(), known.end(), *name) == known.end()) {
    const std::string_view near = nearest(*name, known);
    item.refuse(near.empty() ? fmt::format("is no port; use {}", fmt::join(known, ", "))
                             : fmt::format("is no port; did you mean {}?", near));
  } else if (std::find(ports.begin(), ports.end(), *name) != ports.end()) {
    item.complain(fmt::format("{} is named twice; name it once", *name));
  } else {
    ports.push_back(*name);
  }
}

}  // namespace

void read_collectors(const Value& list, uint16_t port, std::vector<HttpEndpoint>& collectors) {
  const std::string right = fmt::format("a list, as [192.0.2.5:{}]", port);
  for (const Value& item : list.items(right, kMostCollectors))
    read_collector(item, port, collectors);
}

void read_sampled_ports(const Value& value, const Config& config, std::vector<std::string>& ports) {
  if (value.is_word("all")) return;
  const Range& right = sflow_keys["ports"].range;
  for (const Value& item : value.items(right.words, right.high)) read_port(item, config, ports);
  if (ports.empty() && value.report().empty()) value.complain("no port; use all");
}

void load_sflow(const Value& value, Loading& loading) {
  Fields fields(value, sflow_keys.names, "a map, as {collectors: [192.0.2.5:6343]}");
  SflowConfig& sflow = loading.config.sflow;
  const auto collectors = [&](const Value& list) {
    read_collectors(list, kSflowPort, sflow.collectors);
  };
  const auto ports = [&](const Value& value) {
    read_sampled_ports(value, loading.config, sflow.ports);
  };
  read_keys(fields, sflow_keys, sflow,
            {{"collectors", collectors},
             {"agent", [&](const Value& agent) { read_agent(agent, sflow); }},
             {"ports", ports}});
}

}  // namespace hecto::config
