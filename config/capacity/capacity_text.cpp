// The capacity part of `hecto plan`'s text.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/box/cpu_families.hpp"
#include "config/capacity/capacity.hpp"
#include "config/placement/columns.hpp"

namespace hecto::config {
namespace {

constexpr size_t kLabelColumns = 22;
constexpr size_t kCellColumns = 9;

char letter(ResourceKind kind) {
  constexpr char kLetters[] = "cwnphmslgb";
  return kLetters[static_cast<size_t>(kind)];
}

std::string label(const Box& box, const Point& point) {
  if (!point.traffic) return std::string(to_string(point.experiment));
  constexpr std::string_view kNames[] = {"IPv4", "IPv6", "IPsec"};
  const std::string_view name = kNames[static_cast<size_t>(*point.traffic)];
  if (box.sockets.front().package == box.sockets.back().package)
    return fmt::format("{} forwarding", name);
  return fmt::format(
      "{} {}", name,
      point.experiment == Experiment::kForwardLocal ? "within a socket" : "across sockets");
}

std::string size_words(size_t size) {
  const std::string_view name = packet_sizes()[size].name;
  return name == "imix" ? "IMIX" : fmt::format("{} B", name);
}

std::string heading(const std::string& words) {
  std::string out = pad(words, kLabelColumns);
  for (const PacketSize& size : packet_sizes())
    out += fmt::format("{:>{}}", size.name == "imix" ? "IMIX" : size.name, kCellColumns);
  out += '\n';
  return out;
}

std::string number(double value) {
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

// One row for each experiment and traffic, a cell for each size.
template <typename Cell>
std::string rows(const Box& box, const Capacity& capacity, const Cell& cell) {
  std::string out;
  for (size_t i = 0; i + kSizes <= capacity.points.size(); i += kSizes) {
    std::string line = pad(label(box, capacity.points[i]), kLabelColumns);
    for (size_t size = 0; size < kSizes; ++size)
      line += fmt::format("{:>{}}", cell(capacity.points[i + size]), kCellColumns);
    out += line;
    out += '\n';
  }
  return out;
}

std::string legend(const Capacity& capacity) {
  std::map<ResourceKind, bool> seen;
  bool gpu = false;
  for (const Point& point : capacity.points) {
    seen[capacity.resources[point.bottleneck].kind] = true;
    gpu |= point.gpu;
  }
  std::string out = "What stops it:";
  for (const auto& [kind, _] : seen) out += fmt::format(" {} {},", letter(kind), to_string(kind));
  out.back() = '.';
  return fmt::format("{}{}\n", out, gpu ? " * with the GPUs." : "");
}

// "3.1-4.6", of the CPU's range.
std::string range(const Point& point) {
  auto whole = [](double value) {
    return value < 9.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
  };
  const std::string low = whole(point.mpps_low), high = whole(point.mpps_high);
  return low == high ? low : low + "-" + high;
}

// Which CPU the figures are of; the reference's own need no words.
std::string cpu_note(const Box& box) {
  const CpuFamily& family = cpu_family(box.cpu);
  const std::string factor =
      fmt::format("{:g} times the reference's cycles a packet (from {:g} to {:g})", family.likely,
                  family.low, family.high);
  if (family.reference) return "";
  if (!family.known)
    return fmt::format(
        "{}, so it is taken as the reference, Sapphire Rapids, with a wide range, {}.",
        box.cpu.empty() ? "The box does not name its CPU"
                        : fmt::format("Nothing is known here of a CPU \"{}\"", box.cpu),
        factor);
  return fmt::format(
      "The CPU is {}, not the reference, Sapphire Rapids; what was not measured on it is taken as "
      "{}. `hecto-bench calibrate` measures it.",
      family.name, factor);
}

// The tightest resource of each kind.
std::string headroom(const Capacity& capacity, const Point& point) {
  std::map<ResourceKind, size_t> tightest;
  for (size_t r = 0; r < capacity.resources.size(); ++r) {
    if (point.headroom[r] == 0) continue;
    const auto [at, fresh] = tightest.emplace(capacity.resources[r].kind, r);
    if (!fresh && point.headroom[r] < point.headroom[at->second]) at->second = r;
  }
  std::vector<size_t> order;
  for (const auto& [kind, resource] : tightest) order.push_back(resource);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return point.headroom[a] < point.headroom[b]; });
  std::string out;
  for (size_t r : order)
    out += cut(fmt::format("{:>7}  {}", number(point.headroom[r] * point.mpps),
                           capacity.resources[r].name),
               kColumns - 18) +
           fmt::format("  ({:.0f}% used)\n", 100 / point.headroom[r]);
  return out;
}

}  // namespace

std::string describe(const Box& box, const Setup& setup, const Capacity& capacity, size_t size,
                     Traffic traffic) {
  if (capacity.points.empty()) return "";
  if (std::ranges::all_of(setup.ports, &UsedPort::kernel))
    return "! " +
           wrapped(
               "No figures: all ports are kernel interfaces (AF_XDP, AF_PACKET), which carry "
               "what the kernel does; `hecto-bench throughput` measures it.") +
           "\n";
  double wires = 0;
  for (const UsedPort& port : setup.ports) wires += port.gbit_s;
  const std::string all = wires > 0 ? fmt::format("all ports together (wires: {:g} Gb/s)", wires)
                                    : "all ports together";

  std::string out = fmt::format("Gb/s on the wire, {}\n", all);
  out += heading("bytes, with FCS");
  out += rows(box, capacity, [&](const Point& point) {
    return fmt::format("{}{}{}", number(point.gbit_s),
                       letter(capacity.resources[point.bottleneck].kind), point.gpu ? "*" : "");
  });
  out += legend(capacity);
  out += '\n';
  out += heading("Mpps");
  out += rows(box, capacity, [](const Point& point) { return number(point.mpps); });
  if (cpu_counts(box)) {
    out += '\n';
    out += heading("Mpps, low-high");
    out += rows(box, capacity, range);
  }
  if (wires > 0) {
    double cores = 0;
    for (double each : setup.cores) cores += each;
    out += '\n';
    out += heading("cores for line rate");
    out += rows(box, capacity,
                [](const Point& point) { return fmt::format("{}", point.cores_needed); });
    out += fmt::format("Cores at work in this plan: {:g}.\n", cores);
  }
  if (const Point* point = capacity.find(Experiment::kForwardLocal, traffic, size)) {
    out += fmt::format("\n{}, {}: likely {} Mpps{}, {} Gb/s. Each alone would carry, Mpps:\n",
                       label(box, *point), size_words(size), number(point->mpps),
                       cpu_counts(box) && point->mpps_low < point->mpps_high
                           ? fmt::format(" ({})", range(*point))
                           : "",
                       number(point->gbit_s));
    out += headroom(capacity, *point);
  }
  out += "\n";
  if (const std::string note = cpu_note(box); cpu_counts(box) && !note.empty())
    out += fmt::format("! {}\n", wrapped(note));
  for (const std::string& note : box.notes) out += fmt::format("! {}\n", wrapped(note));
  for (const std::string& line : advice(box, setup, capacity))
    out += fmt::format("! {}\n", wrapped(line));
  return out;
}

}  // namespace hecto::config
