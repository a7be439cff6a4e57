#include "bench/traffic/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "bench/traffic/spec_problems.hpp"

namespace hecto::bench {
namespace {

struct Unit {
  std::string_view name;
  TrafficRate::Unit unit;
};
constexpr Unit kUnits[] = {{"pps", TrafficRate::Unit::kPps}, {"bps", TrafficRate::Unit::kBps}};
struct Scale {
  char letter;
  double factor;
};
constexpr Scale kScales[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}};

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Number and scale letter.
std::optional<double> parse_scaled(std::string_view text) {
  double factor = 1;
  for (const Scale& scale : kScales) {
    if (!text.ends_with(scale.letter)) continue;
    text.remove_suffix(1);
    factor = scale.factor;
    break;
  }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto number = parse_number(text);
  if (!number || *number <= 0 || *number * factor > 1e15) return std::nullopt;
  return *number * factor;
}

std::string scaled(double value) {
  for (const Scale& scale : {kScales[2], kScales[1], kScales[0]})
    if (value >= scale.factor) return fmt::format("{:.6g}{}", value / scale.factor, scale.letter);
  return fmt::format("{:.6g}", value);
}

bool has_port(const TrafficSpec& spec, std::string_view name) {
  return std::any_of(spec.ports.begin(), spec.ports.end(),
                     [&](const TrafficPort& port) { return port.port.name == name; });
}

std::string_view family_name(lookup::Family family) {
  return family == lookup::Family::kIpv4 ? "IPv4" : "IPv6";
}

}  // namespace

std::optional<TrafficRate> parse_rate(std::string_view text) {
  if (text == "max") return TrafficRate{};
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    const auto percent = parse_number(text);
    if (!percent || *percent <= 0 || *percent > 100) return std::nullopt;
    return TrafficRate{TrafficRate::Unit::kLinePart, *percent / 100};
  }
  TrafficRate rate{TrafficRate::Unit::kPps, 0};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    text.remove_suffix(unit.name.size());
    rate.unit = unit.unit;
    break;
  }
  const auto value = parse_scaled(text);
  if (!value) return std::nullopt;
  rate.value = *value;
  return rate;
}

std::string to_string(const TrafficRate& rate) {
  switch (rate.unit) {
    case TrafficRate::Unit::kMost:
      return "max";
    case TrafficRate::Unit::kPps:
      return scaled(rate.value) + "pps";
    case TrafficRate::Unit::kBps:
      return scaled(rate.value) + "bps";
    case TrafficRate::Unit::kLinePart:
      break;
  }
  return fmt::format("{:.6g}%", rate.value * 100);
}

std::optional<std::vector<FrameSize>> parse_sizes(std::string_view text) {
  if (text == "imix") return std::vector<FrameSize>{{64, 7}, {594, 4}, {1518, 1}};
  const auto number = parse_number(text);
  if (!number || *number < kMinFrame_bytes || *number > kMaxFrame_bytes ||
      *number != std::floor(*number))
    return std::nullopt;
  return std::vector<FrameSize>{{static_cast<uint16_t>(*number), 1}};
}

double mean_bytes(const std::vector<FrameSize>& sizes) {
  double bytes = 0, weight = 0;
  for (const FrameSize& size : sizes) {
    bytes += static_cast<double>(size.bytes) * size.weight;
    weight += size.weight;
  }
  return weight > 0 ? bytes / weight : 0;
}

uint16_t least_bytes(const StreamSpec& stream) {
  const bool longest = stream.family == lookup::Family::kIpv6 && stream.vlan;
  return longest ? kMinFrame_bytes + 4 : kMinFrame_bytes;
}

namespace {

void check_ports(const TrafficSpec& spec, std::vector<SpecProblem>& problems) {
  if (spec.ports.empty())
    problems.push_back({SpecProblem::kFile, "ports", "no port; name at least one"});
  for (size_t i = 0; i < spec.ports.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (spec.ports[i].port.name == spec.ports[k].port.name)
        problems.push_back({SpecProblem::kFile, "ports",
                            fmt::format("{} comes twice; give each port a name of its own",
                                        spec.ports[i].port.name)});
  if (spec.streams.empty())
    problems.push_back({SpecProblem::kFile, "streams", "no stream; name at least one"});
  if (spec.streams.size() > kMaxStreams)
    problems.push_back(
        {SpecProblem::kFile, "streams",
         fmt::format("{} of them; use at most {}", spec.streams.size(), kMaxStreams)});
}

void check_sizes(const StreamSpec& stream,
                 const std::function<void(const char*, std::string)>& add) {
  const uint16_t least = least_bytes(stream);
  double weights = 0;
  for (const FrameSize& size : stream.sizes) {
    weights += size.weight;
    if (size.bytes >= least && size.bytes <= kMaxFrame_bytes && size.weight > 0) continue;
    if (size.weight == 0)
      add("size",
          fmt::format("{} bytes with weight 0; leave it out, or use 1 and more", size.bytes));
    else
      add("size",
          fmt::format("{} bytes is out of range; use {} to {}{}", size.bytes, least,
                      kMaxFrame_bytes, least > kMinFrame_bytes ? " for IPv6 with a VLAN tag" : ""));
    return;
  }
  if (stream.sizes.empty()) add("size", "no size; name at least one");
  if (!stream.sizes_in_order && weights > kMostSizeWeight)
    add("size", fmt::format("weights of {} together; use at most {}", weights, kMostSizeWeight));
}

void check_destinations(const StreamSpec& stream,
                        const std::function<void(const char*, std::string)>& add) {
  if (stream.destinations.count == 0 || stream.destinations.count > kMostDestinations)
    add("destinations",
        fmt::format("{} of them; use 1 to {}", stream.destinations.count, kMostDestinations));
  for (const lookup::IpPrefix& prefix : stream.destinations.prefixes)
    if (prefix.address.family != stream.family) {
      add("destinations", fmt::format("{} is not {}, which the stream's family says",
                                      prefix.to_string(), family_name(stream.family)));
      return;
    }
}

void check_stream(const TrafficSpec& spec, size_t index, std::vector<SpecProblem>& problems) {
  const StreamSpec& stream = spec.streams[index];
  const auto add = [&](const char* key, std::string text) {
    problems.push_back({index, key, std::move(text)});
  };
  for (const auto& [key, name] : {std::pair("from", &stream.from), std::pair("to", &stream.to)})
    if (!has_port(spec, *name)) add(key, fmt::format("{} is no port of this file", *name));
  if (stream.weight == 0 || stream.weight > kMostWeight)
    add("weight", fmt::format("{} is out of range; use 1 to {}", stream.weight, kMostWeight));
  if (!stream.replay.empty()) {
    for (size_t i = 0; i < index; ++i)
      if (!spec.streams[i].replay.empty() && spec.streams[i].to == stream.to)
        add("replay", fmt::format("stream {} is replayed to port {}, too: nothing tells their "
                                  "frames apart; use one, or another port",
                                  spec.streams[i].name, stream.to));
    return;
  }
  check_sizes(stream, add);
  if (stream.vlan && (*stream.vlan < 1 || *stream.vlan > 4094))
    add("vlan", fmt::format("{} is out of range; use 1 to 4094", *stream.vlan));
  if (stream.flows == 0 || stream.flows > kMostDestinations)
    add("flows", fmt::format("{} is out of range; use 1 to {}", stream.flows, kMostDestinations));
  if (stream.source && stream.source->family != stream.family)
    add("source", fmt::format("{} is not {}, which the stream's family says",
                              stream.source->to_string(), family_name(stream.family)));
  check_destinations(stream, add);
}

}  // namespace

std::vector<SpecProblem> find_problems(const TrafficSpec& spec) {
  std::vector<SpecProblem> problems;
  check_ports(spec, problems);
  for (size_t i = 0; i < spec.streams.size(); ++i) check_stream(spec, i, problems);
  return problems;
}

SpecProblems check_traffic(const TrafficSpec& spec) {
  SpecProblems lines;
  for (const SpecProblem& problem : find_problems(spec))
    lines.push_back(problem.stream == SpecProblem::kFile
                        ? fmt::format("{}: {}", problem.key, problem.text)
                        : fmt::format("stream {}: {}: {}", spec.streams[problem.stream].name,
                                      problem.key, problem.text));
  return lines;
}

TrafficSpec make_spec(const std::string& from_device, const std::string& to_device,
                      uint16_t frame_bytes, lookup::Family family) {
  TrafficSpec spec;
  const auto add = [&](const char* name, const std::string& device) {
    TrafficPort port;
    port.port.name = name;
    port.port.device = device;
    port.port.kind = device.starts_with("net_") || device.starts_with("eth_")
                         ? config::DeviceKind::kVdev
                     : device.find(':') != std::string::npos ? config::DeviceKind::kPci
                                                             : config::DeviceKind::kKernel;
    spec.ports.push_back(port);
  };
  add("a", from_device);
  if (to_device != from_device) add("b", to_device);
  StreamSpec stream;
  stream.from = spec.ports.front().port.name;
  stream.to = spec.ports.back().port.name;
  stream.name = fmt::format("{}-{}", stream.from, stream.to);
  stream.family = family;
  stream.sizes = {{frame_bytes, 1}};
  spec.streams.push_back(stream);
  return spec;
}

}  // namespace hecto::bench
