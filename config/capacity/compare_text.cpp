// One box beside another.
#include <fmt/format.h>

#include "config/capacity/capacity.hpp"
#include "config/placement/columns.hpp"

namespace hecto::config {
namespace {

constexpr size_t kPointColumns = 26, kFigureColumns = 9, kNameColumns = 34, kTimesColumns = 7;

std::string label(const Point& point) {
  constexpr std::string_view kTraffic[] = {"IPv4", "IPv6", "IPsec"};
  const std::string_view traffic = kTraffic[static_cast<size_t>(*point.traffic)];
  const std::string_view size = packet_sizes()[point.size].name;
  return fmt::format("{} {} {}", traffic,
                     point.experiment == Experiment::kForwardAcross ? "across" : "forwarding",
                     point.size == kImixSize ? "IMIX" : fmt::format("{} B", size));
}

// "48.1  cores of socket 0", or why there is none.
std::string cell(const Capacity& capacity, const Point* point) {
  if (point == nullptr) return fmt::format("{:>{}}", "-", kFigureColumns);
  return fmt::format("{:>{}.1f}  {}", point->mpps, kFigureColumns,
                     capacity.resources[point->bottleneck].name);
}

}  // namespace

std::string describe_both(const Compared& one, const Compared& other) {
  std::string out = "Mpps, and what stops it\n";
  out += pad("", kPointColumns) + pad(cut("  " + one.name, kNameColumns - 2), kNameColumns) +
         pad(cut("  " + other.name, kNameColumns - 2), kNameColumns - 1) + "times\n";
  for (Experiment experiment : {Experiment::kForwardLocal, Experiment::kForwardAcross})
    for (Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6, Traffic::kIpsec})
      for (size_t size : {k64, kImixSize, k1518}) {
        const Point* left = one.capacity->find(experiment, traffic, size);
        const Point* right = other.capacity->find(experiment, traffic, size);
        if (left == nullptr && right == nullptr) continue;
        std::string line = pad(label(left != nullptr ? *left : *right), kPointColumns) +
                           pad(cut(cell(*one.capacity, left), kNameColumns - 2), kNameColumns) +
                           cut(cell(*other.capacity, right), kNameColumns - 2);
        if (left != nullptr && right != nullptr)
          line = pad(line, kPointColumns + 2 * kNameColumns - 2) +
                 fmt::format("{:>{}.2f}", right->mpps / left->mpps, kTimesColumns - 1);
        out += line;
        out += '\n';
      }
  return out;
}

}  // namespace hecto::config
