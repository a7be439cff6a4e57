#include "router/cli/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace hecto::cli {
namespace {

std::string with_prefix(double value, double step, std::string_view unit,
                        std::initializer_list<std::string_view> prefixes) {
  if (!std::isfinite(value)) return "-";
  auto prefix = prefixes.begin();
  const double size = std::abs(value);
  double divisor = 1;
  if (std::round(size) < step) return fmt::format("{:.0f} {}{}", value, *prefix, unit);
  do {
    divisor *= step;
    ++prefix;
    // Compared as it will be printed: 999.96 k is 1.0 M.
  } while (prefix + 1 != prefixes.end() && std::round(size / divisor * 10) / 10 >= step);
  return fmt::format("{:.1f} {}{}", value / divisor, *prefix, unit);
}

}  // namespace

std::string count(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string scaled(double value, std::string_view unit) {
  return with_prefix(value, 1000, unit, {"", "k", "M", "G", "T", "P"});
}

std::string packet_rate(double packets_per_second) {
  return scaled(packets_per_second, "pps");
}

std::string bit_rate(double bits_per_second) {
  return scaled(bits_per_second, "b/s");
}

std::string link_speed(double mbps) {
  return mbps >= 1000 && std::fmod(mbps, 1000) == 0 ? fmt::format("{:.0f} Gb/s", mbps / 1000)
                                                    : bit_rate(mbps * 1e6);
}

std::string bytes(double value) {
  return with_prefix(value, 1024, "B", {"", "Ki", "Mi", "Gi", "Ti", "Pi"});
}

std::string percent(double value) {
  // A little load is not none, and almost all is not all.
  if (value > 0 && value < 1) return "<1%";
  if (value > 99 && value < 100) return "99%";
  return fmt::format("{:.0f}%", value);
}

std::string decimal(double value, int digits) {
  return fmt::format("{:.{}f}", value, digits);
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  return clock_time(static_cast<uint64_t>(seconds));
}

std::string clock_time(uint64_t seconds) {
  const std::string time =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return seconds < 86400 ? time : fmt::format("{}d {}", seconds / 86400, time);
}

}  // namespace hecto::cli
