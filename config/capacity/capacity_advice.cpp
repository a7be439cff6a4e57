// What the capacity of a box says about changing it: of what binds, and where that is known. A wire
// that was guessed, a bandwidth that the constants lend, move nobody's card.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "config/box/pcie.hpp"
#include "config/capacity/capacity.hpp"

namespace hecto::config {
namespace {

constexpr double kNearlyAll = 0.99;

class Advisor {
 public:
  Advisor(const Box& box, const Setup& setup, const Capacity& capacity)
      : box_(box), setup_(setup), capacity_(capacity) {
    for (const UsedPort& port : setup.ports)
      if (port.nic) used_.insert(*port.nic);
  }

  std::vector<std::string> run() {
    check_hubs();
    check_others();
    check_cores();
    check_sockets();
    check_links();
    check_crossing();
    check_ports();
    return std::move(lines_);
  }

 private:
  // Packets in and out at once, Mpps, that a slot carries.
  double link_mpps(const BoxNic& nic, double frame_bytes) const {
    Directions bytes = link_bytes_received(box_.constants, frame_bytes, nic.rx_descriptor_bytes);
    bytes += link_bytes_transmitted(box_.constants, frame_bytes, nic.tx_descriptor_bytes);
    return nic.link_gbit_s * box_.constants[Constant::kPcieLinkEfficiency] * 1000 / 8 /
           std::max(bytes.to_memory, bytes.from_memory);
  }

  double wires_of(size_t nic) const {
    double sum = 0;
    for (const UsedPort& port : setup_.ports)
      if (port.nic == nic) sum += port.gbit_s;
    return sum;
  }

  // A free slot in which the NIC would run faster, on its own socket if there is one; or any free
  // one of the socket given.
  const BoxSlot* free_slot(const BoxNic& nic, std::optional<size_t> socket) const {
    std::set<size_t> taken;
    for (const BoxNic& each : box_.nics)
      if (each.slot) taken.insert(*each.slot);
    for (const BoxGpu& gpu : box_.gpus) taken.insert(gpu.slot);
    // A card of the slot's own speed may be the slower of the two: nothing says what it could.
    const bool card_known = nic.slot && box_.slots[*nic.slot].gbit_s > nic.link_gbit_s;
    const BoxSlot* best = nullptr;
    for (size_t i = 0; i < box_.slots.size(); ++i) {
      const BoxSlot& slot = box_.slots[i];
      if (taken.count(i) != 0) continue;
      if (socket ? slot.socket != *socket : card_known || slot.gbit_s <= nic.link_gbit_s) continue;
      if (best == nullptr || (slot.socket == nic.socket && best->socket != nic.socket))
        best = &slot;
    }
    return best;
  }

  // Whether the NIC's link is among what stops IPv4 in some size.
  bool link_binds(size_t n) const {
    for (size_t size : {k64, kImixSize, k1518})
      for (Experiment experiment : {Experiment::kForwardLocal, Experiment::kForwardAcross}) {
        const Point* at = point(experiment, Traffic::kIpv4, size);
        for (size_t r = 0; at != nullptr && r < capacity_.resources.size(); ++r) {
          const Resource& resource = capacity_.resources[r];
          if (resource.kind == ResourceKind::kPcie && resource.place == n && binds(*at, r))
            return true;
        }
      }
    return false;
  }

  // What is wrong with the link of a NIC, and what to do; NICs with the same trouble share a line.
  std::string link_trouble(size_t n) const {
    const BoxNic& nic = box_.nics[n];
    if (!nic.slot || !nic.rate_known || !link_binds(n)) return "";
    const double wires = wires_of(n);
    const double mpps64 = link_mpps(nic, 64);
    const double gbit1518 = link_mpps(nic, 1518) * packet_sizes()[k1518].wire_bits() / 1000;
    const double line64 = wires * 1000 / packet_sizes()[k64].wire_bits();
    const bool too_slow = gbit1518 < kNearlyAll * wires;
    const std::string carries = fmt::format(
        "{}, which carries {:.1f} Mpps at 64 B and {:.0f} Gb/s "
        "at 1518 B both ways, {}",
        nic.link, mpps64, gbit1518,
        too_slow ? fmt::format("below {:g} Gb/s of wires", wires)
                 : fmt::format("below {:.1f} Mpps of wires", line64));
    if (const BoxSlot* better = free_slot(nic, {}))
      return fmt::format("{}. Move it to slot {} ({}, socket {}).", carries, better->name,
                         better->link, box_.sockets[better->socket].id);
    if (!box_.slots_known) return carries + ". Move it to a faster slot, if there is one.";
    if (too_slow) return carries + ". No free slot is faster; this link cannot, use fewer ports.";
    return carries + ". No free slot is faster; longer packets fit.";
  }

  void check_links() {
    std::map<std::string, std::vector<std::string>> names;
    for (size_t n : used_)
      if (auto trouble = link_trouble(n); !trouble.empty())
        names[trouble].push_back(box_.nics[n].name);
    for (const auto& [trouble, nics] : names)
      lines_.push_back(fmt::format("{} {} on {}", fmt::join(nics, " "),
                                   nics.size() == 1 ? "sits" : "sit", trouble));
  }

  // The package whose cores or memory stop IPv4 in some size; none: something else does.
  std::optional<int> binding_package() const {
    for (size_t size : {k64, kImixSize, k1518}) {
      const Point* at = point(Experiment::kForwardLocal, Traffic::kIpv4, size);
      const Resource& resource = capacity_.resources[at->bottleneck];
      if (resource.kind == ResourceKind::kCores ||
          (resource.kind == ResourceKind::kMemory && memory_known(resource.place)))
        return box_.sockets[resource.place].package;
    }
    return std::nullopt;
  }

  // A package whose cores have no NIC to poll, while another's stop what its NICs bring.
  void check_sockets() {
    const auto busy = binding_package();
    if (!busy || !wires_known()) return;
    std::vector<size_t> there;  // NICs of the busy one
    std::map<int, unsigned> cores, nics;
    for (const BoxSocket& socket : box_.sockets) cores[socket.package] += socket.cores;
    for (size_t n : used_) {
      const int package = box_.sockets[box_.nics[n].socket].package;
      ++nics[package];
      if (package == *busy) there.push_back(n);
    }
    if (there.size() < 2) return;
    for (const auto& [package, count] : cores) {
      if (nics[package] > 0) continue;
      const BoxNic& moved = box_.nics[there.back()];
      const BoxSlot* slot = free_slot_of_package(moved, package);
      if (slot == nullptr && box_.slots_known) continue;
      lines_.push_back(fmt::format(
          "Socket {} has {} cores and no NIC, and socket {} is what stops IPv4; move {} there{}.",
          package, count, *busy, moved.name,
          slot == nullptr ? ", if a slot is free"
                          : fmt::format(", to slot {} ({})", slot->name, slot->link)));
    }
  }

  const BoxSlot* free_slot_of_package(const BoxNic& nic, int package) const {
    for (size_t s = 0; s < box_.sockets.size(); ++s)
      if (box_.sockets[s].package == package)
        if (const BoxSlot* slot = free_slot(nic, s)) return slot;
    return nullptr;
  }

  bool binds(const Point& at, size_t resource) const {
    return at.headroom[resource] > 0 && at.headroom[resource] < 1 / kNearlyAll;
  }

  bool wires_known() const {
    return std::ranges::all_of(used_, [&](size_t n) { return box_.nics[n].rate_known; });
  }

  bool memory_known(size_t socket) const {
    return box_.sockets[socket].memory_gbyte_s ||
           box_.constants.is_set(Constant::kMemorySocketGbyteS);
  }

  const Point* point(Experiment experiment, std::optional<Traffic> traffic, size_t size) const {
    return capacity_.find(experiment, traffic, size);
  }
  ResourceKind kind_of(const Point& at) const { return capacity_.resources[at.bottleneck].kind; }

  void check_hubs() {
    const Point* forward = point(Experiment::kForwardLocal, Traffic::kIpv4, k1518);
    if (kind_of(*forward) == ResourceKind::kHub)
      lines_.push_back(fmt::format(
          "The I/O hubs stop forwarding at {:.1f} Gb/s of 1518 B, of {:.0f} on the wires. "
          "Neither cores nor slots help. Take a box whose NICs hang on the CPUs themselves.",
          forward->gbit_s, forward->gbit_s * forward->line_mpps / forward->mpps));
    const Point* receive = point(Experiment::kReceive, {}, k1518);
    if (kind_of(*receive) == ResourceKind::kHub && box_.hubs.size() > 1)
      lines_.push_back(
          fmt::format("Receiving stops at {:.1f} Gb/s of 1518 B, however many hubs there "
                      "are, as their writes to memory wait for each other.",
                      receive->gbit_s));
  }

  // What stops it when there are enough cores; SIZE_MAX: nothing else.
  size_t next_after_cores(const Point& at) const {
    size_t next = SIZE_MAX;
    for (size_t r = 0; r < capacity_.resources.size(); ++r)
      if (capacity_.resources[r].kind != ResourceKind::kCores && at.headroom[r] > 0 &&
          (next == SIZE_MAX || at.headroom[r] < at.headroom[next]))
        next = r;
    return next;
  }

  // "3 more at 64 B (then ...)"; empty: it has enough of them.
  std::string cores_wanted(Traffic traffic, size_t size) const {
    const Point& at = *point(Experiment::kForwardLocal, traffic, size);
    if (kind_of(at) != ResourceKind::kCores || at.line_mpps == 0) return "";
    const size_t next = next_after_cores(at);
    const double reachable =
        next == SIZE_MAX ? 1 : std::min(1.0, at.mpps * at.headroom[next] / at.line_mpps);
    double more = 0;
    for (size_t s = 0; s < setup_.cores.size(); ++s)
      more +=
          std::max(0.0, std::ceil(std::ceil(at.cores_by_socket[s] * reachable) - setup_.cores[s]));
    if (more == 0) return "";
    const std::string name =
        size == kImixSize ? "IMIX" : fmt::format("{} B", packet_sizes()[size].name);
    return fmt::format("{:.0f} more at {}{}", more, name,
                       reachable < kNearlyAll
                           ? fmt::format(" (then {}, {:.0f} Gb/s)", capacity_.resources[next].name,
                                         at.gbit_s * at.headroom[next])
                           : "");
  }

  // Cores that the box has on sockets with workers and that have nothing to poll, less control's.
  unsigned idle_cores() const {
    double idle = -1;
    for (size_t s = 0; s < setup_.cores.size(); ++s)
      if (setup_.cores[s] > 0) idle += box_.sockets[s].cores - setup_.cores[s];
    return idle < 1 ? 0 : static_cast<unsigned>(idle);
  }

  // How many are missing follows from the wires: nothing where those are guessed.
  void check_cores() {
    if (!wires_known()) return;
    for (Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6, Traffic::kIpsec}) {
      std::vector<std::string> parts;
      for (size_t size : {k64, kImixSize, k1518})
        if (auto part = cores_wanted(traffic, size); !part.empty()) parts.push_back(part);
      if (parts.empty()) continue;
      const unsigned idle = idle_cores();
      lines_.push_back(fmt::format(
          "Cores stop {}; add {}.{}",
          traffic == Traffic::kIpv4   ? "IPv4"
          : traffic == Traffic::kIpv6 ? "IPv6"
                                      : "IPsec",
          fmt::join(parts, "; "),
          idle > 0 ? fmt::format(" {} of this box poll nothing: name them in `workers`, or give "
                                 "ports more `queues`.",
                                 idle)
                   : ""));
    }
  }

  void check_others() {
    std::set<size_t> told;
    for (Experiment experiment : {Experiment::kForwardLocal, Experiment::kForwardAcross})
      for (size_t size : {k64, kImixSize, k1518}) {
        const Point* at = point(experiment, Traffic::kIpv4, size);
        if (at == nullptr || !told.insert(at->bottleneck).second) continue;
        const Resource& resource = capacity_.resources[at->bottleneck];
        const std::string stop =
            fmt::format("stops IPv4 at {:.1f} Mpps, {:.0f} Gb/s", at->mpps, at->gbit_s);
        if (resource.kind == ResourceKind::kMemory && !memory_known(resource.place))
          lines_.push_back(fmt::format(
              "The {}, whose bandwidth is not known, {}; measure it with `hecto-bench calibrate`.",
              resource.name, stop));
        else if (resource.kind == ResourceKind::kMemory)
          lines_.push_back(fmt::format("The {} {}; fill more channels, or use faster modules.",
                                       resource.name, stop));
        else if (resource.kind == ResourceKind::kIntersocket)
          lines_.push_back(fmt::format(
              "The {} {}; let packets leave on the socket they came in at.", resource.name, stop));
        else if (resource.kind == ResourceKind::kBudget)
          lines_.push_back(
              fmt::format("The cloud's {} {}; take a larger instance.", resource.name, stop));
        else if (resource.kind == ResourceKind::kNicPackets)
          lines_.push_back(fmt::format("{} takes no more than {:g} Mpps and {}.",
                                       box_.nics[resource.place].name,
                                       *box_.nics[resource.place].mpps, stop));
      }
  }

  void check_crossing() {
    const Point* local = point(Experiment::kForwardLocal, Traffic::kIpv4, k64);
    const Point* across = point(Experiment::kForwardAcross, Traffic::kIpv4, k64);
    if (across == nullptr || across->mpps > 0.9 * local->mpps) return;
    lines_.push_back(
        fmt::format("Across sockets 64 B packets run at {:.0f}% of what they do within one; put "
                    "ports that talk to each other on the same socket.",
                    100 * across->mpps / local->mpps));
  }

  // What the figures do not hold for.
  void check_ports() {
    std::vector<std::string> memory, kernel;
    for (const UsedPort& port : setup_.ports)
      if (port.kernel)
        kernel.push_back(port.name);
      else if (!port.nic)
        memory.push_back(port.name);
    if (!memory.empty())
      lines_.push_back(
          fmt::format("No NIC of this box, taken as ports in memory without a wire: {}",
                      fmt::join(memory, " ")));
    if (!kernel.empty())
      lines_.push_back(
          fmt::format("Kernel interfaces (AF_XDP, AF_PACKET), much slower than these figures: {}",
                      fmt::join(kernel, " ")));
    const BoxBudget& budget = box_.budget;
    if (!box_.cloud.empty() && !budget.mpps && !budget.gbit_s && !budget.in_gbit_s &&
        !budget.out_gbit_s)
      lines_.push_back(fmt::format(
          "{} is a cloud's, whose provider bounds packets and bits of the instance, in and out "
          "together; nothing here tells them. Say them: --what-if budget.mpps=N --what-if "
          "budget.gbit_s=N",
          box_.cloud));
  }

  const Box& box_;
  const Setup& setup_;
  const Capacity& capacity_;
  std::set<size_t> used_;  // NICs
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> advice(const Box& box, const Setup& setup, const Capacity& capacity) {
  if (capacity.points.empty()) return {};
  return Advisor(box, setup, capacity).run();
}

}  // namespace hecto::config
