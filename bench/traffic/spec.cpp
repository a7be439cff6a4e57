#include "bench/traffic/spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/imix.hpp"

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
  if (text == "imix") {
    std::vector<FrameSize> sizes;
    for (const ImixPart& part : kImix) sizes.push_back({part.frame_bytes, part.weight});
    return sizes;
  }
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
