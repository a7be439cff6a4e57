// What the capacity of a box says about changing it.
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

constexpr size_t k64 = 0, k1518 = 5, kImix = 7;
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
    Directions bytes = link_bytes_received(box_.constants, frame_bytes);
    bytes += link_bytes_transmitted(box_.constants, frame_bytes);
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

  // What is wrong with the link of a NIC, and what to do; NICs with the same trouble share a line.
  std::string link_trouble(size_t n) const {
    const BoxNic& nic = box_.nics[n];
    if (!nic.slot) return "";
    const double wires = wires_of(n);
    const double mpps64 = link_mpps(nic, 64);
    const double gbit1518 = link_mpps(nic, 1518) * packet_sizes()[k1518].wire_bits() / 1000;
    const double line64 = wires * 1000 / packet_sizes()[k64].wire_bits();
    if (mpps64 >= kNearlyAll * line64) return "";
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

  // Sockets whose cores have no NIC to poll.
  void check_sockets() {
    for (size_t s = 0; s < box_.sockets.size(); ++s) {
      std::vector<size_t> here, there;
      for (size_t n : used_) (box_.nics[n].socket == s ? here : there).push_back(n);
      if (!here.empty() || there.size() < 2) continue;
      const std::string& moved = box_.nics[there.back()].name;
      const BoxSlot* slot = free_slot(box_.nics[there.back()], s);
      lines_.push_back(fmt::format(
          "Socket {} has {} cores and no NIC; move {} there{}.", box_.sockets[s].id,
          box_.sockets[s].cores, moved,
          slot == nullptr ? "" : fmt::format(", to slot {} ({})", slot->name, slot->link)));
    }
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

  void check_cores() {
    double have = 0;
    for (double cores : setup_.cores) have += cores;
    for (Traffic traffic : {Traffic::kIpv4, Traffic::kIpv6, Traffic::kIpsec}) {
      std::vector<std::string> parts;
      for (size_t size : {k64, kImix, k1518}) {
        const Point* at = point(Experiment::kForwardLocal, traffic, size);
        if (kind_of(*at) != ResourceKind::kCores || at->line_mpps == 0) continue;
        // What stops it when there are enough of them.
        size_t next = SIZE_MAX;
        for (size_t r = 0; r < capacity_.resources.size(); ++r)
          if (capacity_.resources[r].kind != ResourceKind::kCores && at->headroom[r] > 0 &&
              (next == SIZE_MAX || at->headroom[r] < at->headroom[next]))
            next = r;
        const double reachable =
            next == SIZE_MAX ? 1 : std::min(1.0, at->mpps * at->headroom[next] / at->line_mpps);
        const double needed = std::ceil(at->cores_needed * reachable);
        if (needed <= have) continue;
        const std::string name =
            size == kImix ? "IMIX" : fmt::format("{} B", packet_sizes()[size].name);
        parts.push_back(
            fmt::format("{:.0f} more at {}{}", std::ceil(needed - have), name,
                        reachable < kNearlyAll
                            ? fmt::format(" (then {}, {:.0f} Gb/s)", capacity_.resources[next].name,
                                          at->gbit_s * at->headroom[next])
                            : ""));
      }
      if (!parts.empty())
        lines_.push_back(fmt::format("Cores stop {}; add {}.",
                                     traffic == Traffic::kIpv4   ? "IPv4"
                                     : traffic == Traffic::kIpv6 ? "IPv6"
                                                                 : "IPsec",
                                     fmt::join(parts, "; ")));
    }
  }

  void check_others() {
    std::set<size_t> told;
    for (Experiment experiment : {Experiment::kForwardLocal, Experiment::kForwardAcross})
      for (size_t size : {k64, kImix, k1518}) {
        const Point* at = point(experiment, Traffic::kIpv4, size);
        if (at == nullptr || !told.insert(at->bottleneck).second) continue;
        const Resource& resource = capacity_.resources[at->bottleneck];
        const std::string stop =
            fmt::format("stops IPv4 at {:.1f} Mpps, {:.0f} Gb/s", at->mpps, at->gbit_s);
        if (resource.kind == ResourceKind::kMemory)
          lines_.push_back(fmt::format("The {} {}; fill more channels, or use faster modules.",
                                       resource.name, stop));
        else if (resource.kind == ResourceKind::kIntersocket)
          lines_.push_back(fmt::format(
              "The {} {}; let packets leave on the socket they came in at.", resource.name, stop));
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
