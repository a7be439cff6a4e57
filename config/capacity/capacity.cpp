#include "config/capacity/capacity.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/imix.hpp"
#include "config/box/cpu_families.hpp"
#include "config/capacity/loads.hpp"
#include "config/file/load_bond.hpp"
#include "config/placement/placement_parts.hpp"

namespace hecto::config {
namespace {

constexpr double kWorthIt = 1.1;

constexpr std::array<PacketSize::Part, kImix.size()> imix_parts() {
  std::array<PacketSize::Part, kImix.size()> parts{};
  double weights = 0;
  for (const ImixPart& part : kImix) weights += part.weight;
  for (size_t i = 0; i < kImix.size(); ++i)
    parts[i] = {kImix[i].weight / weights, static_cast<double>(kImix[i].frame_bytes)};
  return parts;
}

constexpr std::array<PacketSize, kSizes> kPacketSizes = {{
    {"64", {{{1, 64}, {}, {}}}},
    {"128", {{{1, 128}, {}, {}}}},
    {"256", {{{1, 256}, {}, {}}}},
    {"512", {{{1, 512}, {}, {}}}},
    {"1024", {{{1, 1024}, {}, {}}}},
    {"1518", {{{1, 1518}, {}, {}}}},
    {"9000", {{{1, 9000}, {}, {}}}},
    {"imix", imix_parts()},
}};

// The rate at which the first resource is used up.
Point solved(const Case& each, const Loads& loads) {
  Point point{};
  point.experiment = each.experiment;
  point.gpu = each.gpu;
  const auto load = loads.of(each);
  const auto most = std::max_element(load.begin(), load.end());
  point.bottleneck = static_cast<size_t>(most - load.begin());
  point.mpps = 1 / *most;
  point.gbit_s = point.mpps * each.size->wire_bits() / 1000;
  for (double share : load) point.headroom.push_back(share > 0 ? *most / share : 0);
  return point;
}

double core_headroom(const Point& point, const Loads& loads) {
  double least = std::numeric_limits<double>::max();
  for (size_t r = 0; r < point.headroom.size(); ++r)
    if (loads.resources()[r].kind == ResourceKind::kCores && point.headroom[r] > 0)
      least = std::min(least, point.headroom[r]);
  return least;
}

void add_points(const Box& box, const Setup& setup, const Loads& loads, Experiment experiment,
                std::optional<Traffic> traffic, std::vector<Point>& points) {
  double line_gbit_s = 0;
  for (const UsedPort& port : setup.ports) line_gbit_s += port.gbit_s;
  for (size_t size = 0; size < kSizes; ++size) {
    Case each{experiment, traffic.value_or(Traffic::kIpv4), &packet_sizes()[size], false};
    Point point = solved(each, loads);
    if (traffic && !box.gpus.empty()) {
      Case offloaded = each;
      offloaded.gpu = true;
      Point other = solved(offloaded, loads);
      // What it brings must be worth its latency: packets, or cores.
      const bool faster = other.mpps > kWorthIt * point.mpps;
      const bool cheaper = other.mpps >= point.mpps &&
                           core_headroom(other, loads) > kWorthIt * core_headroom(point, loads);
      if (faster || cheaper) {
        point = std::move(other);
        each = offloaded;
      }
    }
    point.traffic = traffic;
    point.size = size;
    point.line_mpps = line_gbit_s * 1000 / each.size->wire_bits();
    point.cores_by_socket = loads.cores_for(each, point.line_mpps);
    for (unsigned cores : point.cores_by_socket) point.cores_needed += cores;
    points.push_back(std::move(point));
  }
}

size_t position(const std::vector<BoxSocket>& sockets, int id) {
  for (size_t i = 0; i < sockets.size(); ++i)
    if (sockets[i].id == id) return i;
  return 0;
}

// Ports in use of a card that passes less than their wires share what it passes.
void share_cards(const Box& box, Setup& setup) {
  for (size_t n = 0; n < box.nics.size(); ++n) {
    double wires = 0;
    for (const UsedPort& port : setup.ports)
      if (port.nic == n) wires += port.gbit_s;
    if (!box.nics[n].most_gbit_s || wires <= *box.nics[n].most_gbit_s) continue;
    for (UsedPort& port : setup.ports)
      if (port.nic == n) port.gbit_s *= *box.nics[n].most_gbit_s / wires;
  }
}

}  // namespace

std::string_view to_string(Experiment experiment) noexcept {
  constexpr std::string_view kNames[] = {"receive", "transmit", "forward_local", "forward_across"};
  return kNames[static_cast<size_t>(experiment)];
}

std::string_view to_string(Traffic traffic) noexcept {
  constexpr std::string_view kNames[] = {"ipv4", "ipv6", "ipsec"};
  return kNames[static_cast<size_t>(traffic)];
}

std::string_view to_string(ResourceKind kind) noexcept {
  constexpr std::string_view kNames[] = {"cores",
                                         "wires",
                                         "NIC packet rates",
                                         "PCIe links",
                                         "I/O hubs",
                                         "memory",
                                         "links between sockets",
                                         "PCIe of GPUs",
                                         "GPUs",
                                         "the cloud's budget"};
  return kNames[static_cast<size_t>(kind)];
}

double PacketSize::mean_bytes() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.share * part.bytes;
  return sum;
}

double PacketSize::wire_bits() const {
  return 8 * (mean_bytes() + 20);
}

const std::array<PacketSize, kSizes>& packet_sizes() noexcept {
  return kPacketSizes;
}

Setup setup_of(const Box& box, const Config& config, const Topology& topology,
               const Placement& placement) {
  Setup setup;
  setup.cores.assign(box.sockets.size(), 0);
  std::map<std::string, std::map<size_t, double>> queues;  // by port and socket
  std::set<const Core*> busy;
  for (const WorkerPlacement& worker : placement.workers) {
    if (worker.queues.empty()) continue;
    const bool first = busy.insert(core_of(topology, worker.cpu)).second;
    setup.cores[position(box.sockets, worker.socket)] +=
        first ? 1 : box.constants[Constant::kSmtGain];
    for (const QueuePlacement& queue : worker.queues)
      ++queues[queue.port][position(box.sockets, worker.socket)];
  }
  const auto located = locate(config, topology, {});
  for (size_t i = 0; i < config.ports.size(); ++i) {
    UsedPort port;
    port.name = config.ports[i].name;
    const std::vector<PortConfig> parts = parts_of(config.ports[i]);
    port.kernel = std::ranges::any_of(
        parts, [](const PortConfig& part) { return part.kind == DeviceKind::kKernel; });
    port.socket = position(box.sockets, placement.ports[i].socket);
    double sum = 0;
    for (const auto& [socket, count] : queues[port.name]) sum += count;
    for (const auto& [socket, count] : queues[port.name])
      port.polled_from.push_back({socket, count / sum});
    if (port.polled_from.empty()) port.polled_from.push_back({port.socket, 1});
    for (size_t n = 0; n < box.nics.size() && located[i].nic != nullptr; ++n) {
      const auto& pci = box.nics[n].pci;
      if (std::find(pci.begin(), pci.end(), located[i].nic->pci) == pci.end()) continue;
      port.nic = n;
      port.gbit_s = box.nics[n].gbit_s;
    }
    // A bond carries what its members' wires do; of their PCIe links the first one's is counted.
    if (const auto& bond = config.ports[i].bond; bond && bond->mode != BondMode::kActiveBackup)
      port.gbit_s *= static_cast<double>(bond->members.size());
    setup.ports.push_back(std::move(port));
  }
  share_cards(box, setup);
  return setup;
}

bool cpu_counts(const Box& box) {
  return box.constants.has_table_cycles();
}

namespace {

Capacity capacity_on(const Box& as_it_is, double factor, const Setup& setup) {
  Box box = as_it_is;
  box.constants = as_it_is.constants.on_cpu(factor);
  const Loads loads(box, setup);
  Capacity out;
  out.resources = loads.resources();
  if (setup.ports.empty()) return out;
  std::set<int> packages;
  for (const UsedPort& port : setup.ports) packages.insert(box.sockets[port.socket].package);
  add_points(box, setup, loads, Experiment::kReceive, {}, out.points);
  add_points(box, setup, loads, Experiment::kTransmit, {}, out.points);
  for (Experiment experiment : {Experiment::kForwardLocal, Experiment::kForwardAcross}) {
    if (experiment == Experiment::kForwardAcross && packages.size() < 2) continue;
    for (Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6, Traffic::kIpsec})
      add_points(box, setup, loads, experiment, traffic, out.points);
  }
  return out;
}

}  // namespace

Capacity capacity_of(const Box& box, const Setup& setup) {
  const CpuFamily& family = cpu_family(box.cpu);
  Capacity out = capacity_on(box, family.likely, setup);
  const Capacity slow = capacity_on(box, family.high, setup);
  const Capacity fast = capacity_on(box, family.low, setup);
  for (size_t i = 0; i < out.points.size(); ++i) {
    out.points[i].mpps_low = slow.points[i].mpps;
    out.points[i].mpps_high = fast.points[i].mpps;
  }
  return out;
}

const Point* Capacity::find(Experiment experiment, std::optional<Traffic> traffic,
                            size_t size) const {
  for (const Point& point : points)
    if (point.experiment == experiment && point.traffic == traffic && point.size == size)
      return &point;
  return nullptr;
}

}  // namespace hecto::config
