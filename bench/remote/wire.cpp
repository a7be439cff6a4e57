#include "bench/remote/wire.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace hecto::bench {
namespace {

using nlohmann::json;

constexpr std::pair<config::DeviceKind, const char*> kKinds[] = {
    {config::DeviceKind::kPci, "pci"},
    {config::DeviceKind::kVdev, "vdev"},
    {config::DeviceKind::kKernel, "kernel"}};

[[noreturn]] void refuse(const char* what, const std::string& seen) {
  throw std::invalid_argument(fmt::format("{}: \"{}\"", what, seen));
}

template <typename Value, typename Parse>
Value read(const json& text, const char* what, Parse parse) {
  const auto word = text.get<std::string>();
  const auto value = parse(word);
  if (!value) refuse(what, word);
  return *value;
}
MacAddress mac_of(const json& text) {
  return read<MacAddress>(text, "no MAC address", parse_mac_address);
}
lookup::IpAddress address_of(const json& text) {
  return read<lookup::IpAddress>(text, "no address", lookup::IpAddress::parse);
}

// What is not there stays as it is.
template <typename Value>
void take(const json& wire, const char* key, std::optional<Value>& into) {
  if (const auto found = wire.find(key); found != wire.end()) into = found->get<Value>();
}

json texts(const auto& values) {
  json out = json::array();
  for (const auto& value : values) out.push_back(value.to_string());
  return out;
}

json wire_port(const TrafficPort& traffic) {
  const config::PortConfig& port = traffic.port;
  json out = {{"name", port.name},
              {"device", port.device},
              {"mtu", port.mtu},
              {"rx_descriptors", port.rx_descriptors},
              {"tx_descriptors", port.tx_descriptors},
              {"addresses", texts(port.addresses)},
              {"gateways", texts(traffic.gateways)},
              {"line_bps", traffic.line_bps}};
  for (const auto& [kind, word] : kKinds)
    if (kind == port.kind) out["kind"] = word;
  if (port.mac) out["mac"] = to_string(*port.mac);
  return out;
}

TrafficPort port_of_wire(const json& wire) {
  TrafficPort traffic;
  config::PortConfig& port = traffic.port;
  port.name = wire.at("name").get<std::string>();
  port.device = wire.at("device").get<std::string>();
  port.mtu = wire.at("mtu").get<uint16_t>();
  port.rx_descriptors = wire.at("rx_descriptors").get<uint16_t>();
  port.tx_descriptors = wire.at("tx_descriptors").get<uint16_t>();
  for (const json& text : wire.at("addresses"))
    port.addresses.push_back(
        read<lookup::IpPrefix>(text, "no address", lookup::IpPrefix::parse_interface));
  for (const json& text : wire.at("gateways")) traffic.gateways.push_back(address_of(text));
  traffic.line_bps = wire.at("line_bps").get<uint64_t>();
  const auto kind = wire.at("kind").get<std::string>();
  bool known = false;
  for (const auto& [value, word] : kKinds) {
    if (kind != word) continue;
    port.kind = value;
    known = true;
  }
  if (!known) refuse("no kind of device", kind);
  if (wire.contains("mac")) port.mac = mac_of(wire["mac"]);
  return traffic;
}

json wire_expectation(const Expectation& expect) {
  if (expect.next_hop_mac)
    throw std::invalid_argument("what a device's routes ask for is checked on its own box alone");
  json out = {{"wire", expect.wire}, {"hops", expect.hops}};
  if (expect.destination_mac) out["destination_mac"] = to_string(*expect.destination_mac);
  if (expect.vlan) out["vlan"] = *expect.vlan;
  return out;
}

Expectation expectation_of_wire(const json& wire) {
  Expectation expect;
  expect.wire = wire.at("wire").get<bool>();
  expect.hops = wire.at("hops").get<uint8_t>();
  if (wire.contains("destination_mac")) expect.destination_mac = mac_of(wire["destination_mac"]);
  take(wire, "vlan", expect.vlan);
  return expect;
}

json wire_stream(const StreamSpec& stream) {
  json sizes = json::array();
  for (const FrameSize& size : stream.sizes) sizes.push_back({size.bytes, size.weight});
  json out = {{"name", stream.name},
              {"from", stream.from},
              {"to", stream.to},
              {"family", stream.family == lookup::Family::kIpv4 ? 4 : 6},
              {"sizes", sizes},
              {"sizes_in_order", stream.sizes_in_order},
              {"weight", stream.weight},
              {"flows", stream.flows},
              {"destinations",
               {{"kind", to_string(stream.destinations.kind)},
                {"prefixes", texts(stream.destinations.prefixes)},
                {"count", stream.destinations.count}}},
              {"expect", wire_expectation(stream.expect)},
              {"replay", stream.replay}};
  if (stream.vlan) out["vlan"] = *stream.vlan;
  if (stream.source) out["source"] = stream.source->to_string();
  if (stream.destination_mac) out["destination_mac"] = to_string(*stream.destination_mac);
  return out;
}

TrafficDestinations destinations_of_wire(const json& wire) {
  TrafficDestinations destinations;
  const auto kind = wire.at("kind").get<std::string>();
  bool known = false;
  for (const Destinations value :
       {Destinations::kUniform, Destinations::kInTable, Destinations::kZipf}) {
    if (kind != to_string(value)) continue;
    destinations.kind = value;
    known = true;
  }
  if (!known) refuse("no kind of destinations", kind);
  for (const json& text : wire.at("prefixes"))
    destinations.prefixes.push_back(
        read<lookup::IpPrefix>(text, "no prefix", lookup::IpPrefix::parse));
  destinations.count = wire.at("count").get<uint32_t>();
  return destinations;
}

StreamSpec stream_of_wire(const json& wire) {
  StreamSpec stream;
  stream.name = wire.at("name").get<std::string>();
  stream.from = wire.at("from").get<std::string>();
  stream.to = wire.at("to").get<std::string>();
  stream.family = wire.at("family").get<int>() == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
  stream.sizes.clear();
  for (const json& size : wire.at("sizes"))
    stream.sizes.push_back({size.at(0).get<uint16_t>(), size.at(1).get<uint32_t>()});
  stream.sizes_in_order = wire.at("sizes_in_order").get<bool>();
  stream.weight = wire.at("weight").get<uint32_t>();
  stream.flows = wire.at("flows").get<uint32_t>();
  stream.destinations = destinations_of_wire(wire.at("destinations"));
  stream.expect = expectation_of_wire(wire.at("expect"));
  stream.replay = wire.at("replay").get<std::string>();
  take(wire, "vlan", stream.vlan);
  if (wire.contains("source")) stream.source = address_of(wire["source"]);
  if (wire.contains("destination_mac")) stream.destination_mac = mac_of(wire["destination_mac"]);
  return stream;
}

// Its buckets that have some, and what they do not say.
json wire_histogram(const Histogram& histogram) {
  const Histogram::Parts parts = histogram.parts();
  return {{"min", parts.min}, {"max", parts.max}, {"sum", parts.sum}, {"buckets", parts.buckets}};
}

Histogram histogram_of_wire(const json& wire) {
  const auto histogram =
      Histogram::of({wire.at("min").get<uint64_t>(), wire.at("max").get<uint64_t>(),
                     wire.at("sum").get<uint64_t>(),
                     wire.at("buckets").get<std::vector<std::pair<uint32_t, uint64_t>>>()});
  if (!histogram) throw std::invalid_argument("a histogram with buckets that there are not");
  return *histogram;
}

json wire_stream_result(const StreamResult& stream) {
  return {{"name", stream.name},
          {"sent", stream.sent},
          {"received", stream.received},
          {"wrong", to_json(stream.wrong)},
          {"duplicated", stream.duplicated},
          {"reordered", stream.reordered},
          {"latency_ns", wire_histogram(stream.latency_ns)},
          {"jitter_ns", wire_histogram(stream.jitter_ns)}};
}

StreamResult stream_result_of_wire(const json& wire) {
  StreamResult stream;
  stream.name = wire.at("name").get<std::string>();
  stream.sent = wire.at("sent").get<uint64_t>();
  stream.received = wire.at("received").get<uint64_t>();
  stream.wrong = wrong_counts(wire.at("wrong"));
  stream.duplicated = wire.at("duplicated").get<uint64_t>();
  stream.reordered = wire.at("reordered").get<uint64_t>();
  stream.latency_ns = histogram_of_wire(wire.at("latency_ns"));
  stream.jitter_ns = histogram_of_wire(wire.at("jitter_ns"));
  return stream;
}

}  // namespace

json wire_rate(const TrafficRate& rate) {
  return {{"unit", static_cast<unsigned>(rate.unit)}, {"value", rate.value}};
}

TrafficRate rate_of_wire(const json& wire) {
  const auto unit = wire.at("unit").get<unsigned>();
  if (unit > static_cast<unsigned>(TrafficRate::Unit::kLinePart))
    throw std::invalid_argument("a rate in no unit");
  return {static_cast<TrafficRate::Unit>(unit), wire.at("value").get<double>()};
}

json wire_streams(const std::vector<StreamSpec>& streams) {
  json out = json::array();
  for (const StreamSpec& stream : streams) out.push_back(wire_stream(stream));
  return out;
}

std::vector<StreamSpec> streams_of_wire(const json& wire) {
  std::vector<StreamSpec> streams;
  for (const json& stream : wire) streams.push_back(stream_of_wire(stream));
  if (streams.empty() || streams.size() > kMaxStreams)
    throw std::invalid_argument(fmt::format("{} streams; 1 to {}", streams.size(), kMaxStreams));
  return streams;
}

json wire_spec(const TrafficSpec& spec) {
  json ports = json::array();
  for (const TrafficPort& port : spec.ports) ports.push_back(wire_port(port));
  return {{"file", spec.file},
          {"ports", ports},
          {"streams", wire_streams(spec.streams)},
          {"rate", wire_rate(spec.rate)},
          {"seconds", spec.seconds},
          {"timestamps", spec.timestamps}};
}

TrafficSpec spec_of_wire(const json& wire) {
  TrafficSpec spec;
  spec.file = wire.at("file").get<std::string>();
  for (const json& port : wire.at("ports")) spec.ports.push_back(port_of_wire(port));
  if (spec.ports.empty()) throw std::invalid_argument("no ports");
  spec.streams = streams_of_wire(wire.at("streams"));
  spec.rate = rate_of_wire(wire.at("rate"));
  spec.seconds = wire.at("seconds").get<double>();
  spec.timestamps = wire.at("timestamps").get<bool>();
  return spec;
}

json wire_options(const GeneratorOptions& options) {
  return {{"cpus", options.cpus},
          {"burst", options.burst},
          {"mbufs", options.mbufs},
          {"longest_frame_bytes", options.longest_frame_bytes},
          {"neighbor_seconds", options.neighbor_seconds},
          {"link_seconds", options.link_seconds},
          {"quiet_seconds", options.quiet_seconds}};
}

GeneratorOptions options_of_wire(const json& wire) {
  GeneratorOptions options;
  wire.at("cpus").get_to(options.cpus);
  wire.at("burst").get_to(options.burst);
  wire.at("mbufs").get_to(options.mbufs);
  wire.at("longest_frame_bytes").get_to(options.longest_frame_bytes);
  wire.at("neighbor_seconds").get_to(options.neighbor_seconds);
  wire.at("link_seconds").get_to(options.link_seconds);
  wire.at("quiet_seconds").get_to(options.quiet_seconds);
  return options;
}

json wire_request(const TrialRequest& request) {
  return {{"pps", request.pps},
          {"seconds", request.seconds},
          {"settle_seconds", request.settle_seconds}};
}

TrialRequest request_of_wire(const json& wire) {
  return {wire.at("pps").get<double>(), wire.at("seconds").get<double>(),
          wire.at("settle_seconds").get<double>()};
}

json wire_trial(const TrialResult& trial) {
  json streams = json::array();
  for (const StreamResult& stream : trial.streams) streams.push_back(wire_stream_result(stream));
  return {{"seconds", trial.seconds},
          {"wanted", trial.wanted},
          {"sent", trial.sent},
          {"refused", trial.refused},
          {"received", trial.received},
          {"wrong", to_json(trial.wrong)},
          {"sent_bytes", trial.sent_bytes},
          {"foreign", trial.foreign},
          {"held_back", trial.held_back},
          {"interrupted", trial.interrupted},
          {"streams", streams}};
}

TrialResult trial_of_wire(const json& wire) {
  TrialResult trial;
  wire.at("seconds").get_to(trial.seconds);
  wire.at("wanted").get_to(trial.wanted);
  wire.at("sent").get_to(trial.sent);
  wire.at("refused").get_to(trial.refused);
  wire.at("received").get_to(trial.received);
  trial.wrong = wrong_counts(wire.at("wrong"));
  wire.at("sent_bytes").get_to(trial.sent_bytes);
  wire.at("foreign").get_to(trial.foreign);
  wire.at("held_back").get_to(trial.held_back);
  wire.at("interrupted").get_to(trial.interrupted);
  for (const json& stream : wire.at("streams"))
    trial.streams.push_back(stream_result_of_wire(stream));
  return trial;
}

json wire_ports(const std::vector<Generator::PortInfo>& ports) {
  json out = json::array();
  for (const Generator::PortInfo& port : ports)
    out.push_back({{"name", port.name},
                   {"device", port.device},
                   {"driver", port.driver},
                   {"mac", port.mac},
                   {"line_bps", port.line_bps},
                   {"refused", port.refused}});
  return out;
}

std::vector<Generator::PortInfo> ports_of_wire(const json& wire) {
  std::vector<Generator::PortInfo> ports;
  for (const json& port : wire)
    ports.push_back({port.at("name").get<std::string>(), port.at("device").get<std::string>(),
                     port.at("driver").get<std::string>(), port.at("mac").get<std::string>(),
                     port.at("line_bps").get<uint64_t>(),
                     port.at("refused").get<std::vector<std::string>>()});
  return ports;
}

}  // namespace hecto::bench
