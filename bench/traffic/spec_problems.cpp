#include "bench/traffic/spec_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace hecto::bench {
namespace {

bool has_port(const TrafficSpec& spec, std::string_view name) {
  return std::any_of(spec.ports.begin(), spec.ports.end(),
                     [&](const TrafficPort& port) { return port.port.name == name; });
}

std::string_view family_name(lookup::Family family) {
  return family == lookup::Family::kIpv4 ? "IPv4" : "IPv6";
}

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
    if (!spec.ports.empty() && !has_port(spec, *name))
      add(key, fmt::format("{} is no port of this file", *name));
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

uint16_t least_bytes(const StreamSpec& stream) {
  const bool longest = stream.family == lookup::Family::kIpv6 && stream.vlan;
  return longest ? kMinFrame_bytes + 4 : kMinFrame_bytes;
}

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

}  // namespace hecto::bench
