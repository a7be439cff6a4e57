// A box from a topology, and a topology from a box file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "config/box/box.hpp"
#include "config/box/pcie.hpp"

namespace hecto::config {
namespace {

constexpr double kRates_gbit_s[] = {400, 200, 100, 50, 40, 25, 10, 1};
constexpr double kUnknownRate_gbit_s = 10;

// "0000:17:00" of "0000:17:00.1": functions of one card share its link.
std::string card_of(const std::string& pci) {
  return pci.substr(0, pci.rfind('.'));
}

std::optional<double> link_of(const Nic& nic) {
  if (nic.pcie_gt_s && nic.pcie_lanes) return link_gbit_s(*nic.pcie_gt_s, *nic.pcie_lanes);
  return nic.pcie_gbit_s;
}

std::string link_text(const Nic& nic, double gbit_s) {
  if (nic.pcie_gt_s && nic.pcie_lanes) return link_words(*nic.pcie_gt_s, *nic.pcie_lanes);
  return fmt::format("PCIe {:.0f} Gb/s", gbit_s);
}

// "XL710 for 40GbE QSFP+" says its rate.
std::optional<double> rate_in(const std::string& name) {
  for (size_t at = name.find("Gb"); at != std::string::npos; at = name.find("Gb", at + 1)) {
    size_t begin = at;
    while (begin > 0 && (std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0)) --begin;
    if (begin < at) return std::atof(name.substr(begin, at - begin).c_str());
  }
  return std::nullopt;
}

void set_rate(const Nic& nic, std::optional<double> link, BoxNic& out) {
  if (auto rate = nic.gbit_s ? nic.gbit_s : rate_in(nic.name); rate && *rate > 0) {
    out.gbit_s = *rate;
    return;
  }
  out.rate_known = false;
  out.gbit_s = kUnknownRate_gbit_s;
  if (!link) return;
  for (double rate : kRates_gbit_s) {
    if (rate * static_cast<double>(out.pci.size()) > *link) continue;
    out.gbit_s = rate;
    return;
  }
}

size_t position_of(const Topology& topology, int socket) {
  const auto found = std::find(topology.sockets.begin(), topology.sockets.end(), socket);
  return found == topology.sockets.end() ? 0
                                         : static_cast<size_t>(found - topology.sockets.begin());
}

}  // namespace

Box box_of(const Topology& topology, const Constants& constants) {
  Box box;
  box.source = topology.source;
  box.name = topology.cpu_model;
  box.constants = constants;
  box.slots_known = false;
  box.ddio = topology.cpu_model.empty() || topology.cpu_model.find("Intel") != std::string::npos;
  for (int id : topology.sockets) {
    BoxSocket socket;
    socket.id = id;
    for (const Core& core : topology.cores) {
      if (core.socket != id) continue;
      ++socket.cores;
      socket.threads = std::max(socket.threads, static_cast<unsigned>(core.siblings.size()) + 1);
    }
    socket.ghz = topology.ghz.value_or(0);
    box.sockets.push_back(socket);
  }
  if (!topology.ghz)
    box.notes.push_back(fmt::format("{} does not tell its clock, taken as {:.2f} GHz.", box.source,
                                    constants[Constant::kCoreGhz]));
  if (!constants.is_set(Constant::kMemorySocketGbyteS))
    box.notes.push_back(
        fmt::format("{} does not tell its memory's bandwidth, taken as {:g} GB/s a socket; "
                    "`hecto-bench calibrate` measures it.",
                    box.source, constants[Constant::kMemorySocketGbyteS]));
  if (box.sockets.size() > 1 && !constants.is_set(Constant::kIntersocketGbyteS))
    box.notes.push_back(
        fmt::format("{} does not tell the links between its sockets, taken as {:g} GB/s each way.",
                    box.source, constants[Constant::kIntersocketGbyteS]));
  std::map<std::string, std::vector<const Nic*>> cards;
  for (const Nic& nic : topology.nics) cards[card_of(nic.pci)].push_back(&nic);
  for (const auto& [card, functions] : cards) {
    const Nic& first = *functions.front();
    BoxNic nic;
    nic.name = first.interface.empty() ? card : first.interface;
    nic.socket = position_of(topology, first.socket);
    for (const Nic* function : functions) nic.pci.push_back(function->pci);
    const auto link = link_of(first);
    set_rate(first, link, nic);
    if (!nic.rate_known)
      box.notes.push_back(fmt::format("The wire of {} is not known, taken as {:g} Gb/s a port.",
                                      nic.name, nic.gbit_s));
    if (link) {
      nic.slot = box.slots.size();
      nic.link_gbit_s = *link;
      nic.link = link_text(first, *link);
      box.slots.push_back({card, nic.socket, std::nullopt, 0, 0, *link, nic.link});
    }
    box.nics.push_back(std::move(nic));
  }
  for (const Gpu& gpu : topology.gpus) {
    if (!gpu.pcie_gbit_s) continue;
    box.gpus.push_back({gpu.pci, box.slots.size()});
    box.slots.push_back({gpu.pci, position_of(topology, gpu.socket), std::nullopt, 0, 0,
                         *gpu.pcie_gbit_s, fmt::format("PCIe {:.0f} Gb/s", *gpu.pcie_gbit_s)});
  }
  return box;
}

Topology topology_of(const Box& box) {
  Topology out;
  out.source = box.source;
  out.cpu_model = box.name;
  unsigned all_cores = 0, next = 0;
  for (const BoxSocket& socket : box.sockets) all_cores += socket.cores;
  for (const BoxSocket& socket : box.sockets) {
    out.sockets.push_back(socket.id);
    for (unsigned i = 0; i < socket.cores; ++i, ++next) {
      Core core{next, {}, socket.id, true};
      for (unsigned thread = 1; thread < socket.threads; ++thread)
        core.siblings.push_back(next + thread * all_cores);
      out.cores.push_back(std::move(core));
    }
    if (socket.ghz > 0) out.ghz = socket.ghz;
  }
  for (const BoxNic& nic : box.nics)
    for (const std::string& pci : nic.pci) {
      Nic port;
      port.pci = pci;
      port.name = nic.name;
      port.socket = box.sockets[nic.socket].id;
      port.gbit_s = nic.gbit_s;
      if (nic.slot) port.pcie_gbit_s = nic.link_gbit_s;
      out.nics.push_back(std::move(port));
    }
  return out;
}

Config default_config(const Box& box) {
  Config config;
  for (const BoxNic& nic : box.nics)
    for (size_t port = 0; port < nic.pci.size(); ++port) {
      PortConfig added;
      added.name = nic.pci.size() == 1 ? nic.name : fmt::format("{}p{}", nic.name, port);
      added.device = nic.pci[port];
      added.kind = DeviceKind::kPci;
      config.ports.push_back(std::move(added));
    }
  return config;
}

}  // namespace hecto::config
