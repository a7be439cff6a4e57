// A box from a topology, and a topology from a box file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "config/box/box_parts.hpp"
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

// "XL710 for 40GbE QSFP+" says its rate; "10Gb/25Gb" and "10/25GbE" do not say which.
std::optional<double> rate_in(const std::string& name) {
  auto digit = [&](size_t at) { return std::isdigit(static_cast<unsigned char>(name[at])) != 0; };
  std::optional<double> out;
  for (size_t at = name.find("Gb"); at != std::string::npos; at = name.find("Gb", at + 1)) {
    size_t begin = at;
    while (begin > 0 && (digit(begin - 1) || name[begin - 1] == '.')) --begin;
    if (begin == at) continue;
    const double rate = std::atof(name.substr(begin, at - begin).c_str());
    const bool another = begin > 1 && name[begin - 1] == '/' && digit(begin - 2);
    if (another || (out && *out != rate)) return std::nullopt;
    out = rate;
  }
  return out;
}

// What the kernel says of the wire comes first, then the card's ids, then its name, then a guess.
void set_rate(const std::vector<const Nic*>& functions, const NicModel* model,
              std::optional<double> link, BoxNic& out) {
  std::optional<double> rate;
  for (const Nic* function : functions)
    if (!rate) rate = function->gbit_s;
  const bool by_id = model != nullptr && model->gbit_s > 0;  // apply_model set it
  if (!rate && !by_id) rate = rate_in(functions.front()->name);
  if (rate && *rate > 0) {
    out.gbit_s = *rate;
    return;
  }
  out.rate_known = by_id && model->one_rate;
  if (by_id) return;
  out.gbit_s = kUnknownRate_gbit_s;
  if (!link) return;
  for (double each : kRates_gbit_s) {
    if (each * static_cast<double>(out.pci.size()) > *link) continue;
    out.gbit_s = each;
    return;
  }
}

size_t position_of(const Topology& topology, int socket) {
  const auto found = std::find(topology.sockets.begin(), topology.sockets.end(), socket);
  return found == topology.sockets.end() ? 0
                                         : static_cast<size_t>(found - topology.sockets.begin());
}

void add_sockets(const Topology& topology, Box& box) {
  for (int id : topology.sockets) {
    BoxSocket socket;
    socket.id = id;
    socket.package = package_of(topology, id);
    std::map<int, unsigned> l3;
    for (const Core& core : topology.cores) {
      if (core.socket != id) continue;
      ++socket.cores;
      socket.threads = std::max(socket.threads, static_cast<unsigned>(core.siblings.size()) + 1);
      if (core.l3 >= 0) socket.l3_cores = std::max(socket.l3_cores, ++l3[core.l3]);
    }
    socket.ghz = topology.ghz.value_or(0);
    if (box.sockets.size() < topology.memory_gbyte_s.size())
      socket.memory_gbyte_s = topology.memory_gbyte_s[box.sockets.size()];
    box.sockets.push_back(socket);
  }
}

bool several_packages(const Box& box) {
  return std::ranges::any_of(box.sockets, [&](const BoxSocket& socket) {
    return socket.package != box.sockets.front().package;
  });
}

void note_assumptions(const Topology& topology, Box& box) {
  const Constants& c = box.constants;
  if (!topology.ghz)
    box.notes.push_back(fmt::format("{} does not tell its clock, taken as {:.2f} GHz.", box.source,
                                    c[Constant::kCoreGhz]));
  if (topology.memory_gbyte_s.empty() && !c.is_set(Constant::kMemorySocketGbyteS))
    box.notes.push_back(
        fmt::format("{} does not tell its memory's bandwidth, taken as {:g} GB/s a socket; "
                    "`hecto-bench calibrate` measures it.",
                    box.source, c[Constant::kMemorySocketGbyteS]));
  if (several_packages(box) && !c.is_set(Constant::kIntersocketGbyteS))
    box.notes.push_back(
        fmt::format("{} does not tell the links between its sockets, taken as {:g} GB/s each way.",
                    box.source, c[Constant::kIntersocketGbyteS]));
  box.notes.insert(box.notes.end(), topology.notes.begin(), topology.notes.end());
  // Amazon's ENA and Google's gVNIC.
  const auto cloud = std::ranges::find_if(
      topology.nics, [](const Nic& nic) { return nic.vendor == 0x1d0f || nic.vendor == 0x1ae0; });
  if (cloud != topology.nics.end())
    box.cloud = cloud->interface.empty() ? cloud->pci : cloud->interface;
}

void add_nic(const Topology& topology, const std::string& card,
             const std::vector<const Nic*>& functions, Box& box) {
  const Nic& first = *functions.front();
  const NicModel* model = find_nic_model(first.vendor, first.device);
  BoxNic nic;
  nic.name = first.interface.empty() ? card : first.interface;
  nic.socket = position_of(topology, first.socket);
  nic.ethernet = first.ethernet;
  for (const Nic* function : functions) nic.pci.push_back(function->pci);
  const auto link = link_of(first);
  if (model != nullptr) apply_model(*model, nic);
  set_rate(functions, model, link, nic);
  if (!nic.rate_known && nic.ethernet)
    box.notes.push_back(model != nullptr && model->gbit_s > 0
                            ? most_of_id(*model, nic)
                            : fmt::format("The wire of {} is not known, taken as {:g} Gb/s a port.",
                                          nic.name, nic.gbit_s));
  note_card(nic, box);
  if (link) {
    nic.slot = box.slots.size();
    nic.link_gbit_s = *link;
    nic.link = link_text(first, *link);
    box.slots.push_back({card, nic.socket, std::nullopt, 0, 0, *link, nic.link});
  }
  box.nics.push_back(std::move(nic));
}

// For management, by the look of it: 1 Gb/s and less beside ports of ten times that.
bool for_management(const Box& box, const BoxNic& nic) {
  constexpr double kManagement_gbit_s = 1, kBeside = 10;
  return nic.rate_known && nic.gbit_s <= kManagement_gbit_s &&
         std::ranges::any_of(box.nics, [&](const BoxNic& other) {
           return other.ethernet && other.gbit_s >= kBeside * nic.gbit_s;
         });
}

}  // namespace

void apply_model(const NicModel& model, BoxNic& nic) {
  nic.rx_descriptor_bytes = model.rx_bytes;
  nic.tx_descriptor_bytes = model.tx_bytes;
  if (model.gbit_s > 0) nic.gbit_s = model.gbit_s;
  if (model.mpps > 0) nic.mpps = model.mpps;
  if (model.card_gbit_s > 0) nic.most_gbit_s = model.card_gbit_s;
}

void note_card(const BoxNic& nic, Box& box) {
  const auto ports = static_cast<double>(nic.pci.size());
  if (!nic.most_gbit_s || nic.gbit_s * ports <= *nic.most_gbit_s) return;
  box.notes.push_back(
      fmt::format("{} has {:g} ports of {:g} Gb/s, and its card passes {:g} in all.", nic.name,
                  ports, nic.gbit_s, *nic.most_gbit_s));
}

std::string most_of_id(const NicModel& model, const BoxNic& nic) {
  return fmt::format("{} is a {}, which comes with several rates; taken as {:g} Gb/s a port.",
                     nic.name, model.name, nic.gbit_s);
}

Box box_of(const Topology& topology, const Constants& constants) {
  Box box;
  box.source = topology.source;
  box.name = topology.cpu_model;
  box.cpu = topology.cpu_model;
  box.constants = constants;
  box.slots_known = false;
  box.ddio = topology.cpu_model.empty() || topology.cpu_model.find("Intel") != std::string::npos;
  add_sockets(topology, box);
  note_assumptions(topology, box);
  std::map<std::string, std::vector<const Nic*>> cards;
  for (const Nic& nic : topology.nics) cards[card_of(nic.pci)].push_back(&nic);
  for (const auto& [card, functions] : cards) add_nic(topology, card, functions, box);
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
  out.cpu_model = box.cpu.empty() ? box.name : box.cpu;
  unsigned all_cores = 0, next = 0;
  int l3 = -1;
  for (const BoxSocket& socket : box.sockets) all_cores += socket.cores;
  for (const BoxSocket& socket : box.sockets) {
    out.sockets.push_back(socket.id);
    for (unsigned i = 0; i < socket.cores; ++i, ++next) {
      if (i % (socket.l3_cores > 0 ? socket.l3_cores : socket.cores) == 0) ++l3;
      Core core{next, {}, socket.id, true, socket.package, l3};
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
      if (nic.rate_known) port.gbit_s = nic.gbit_s;
      if (nic.slot) port.pcie_gbit_s = nic.link_gbit_s;
      out.nics.push_back(std::move(port));
    }
  return out;
}

Config default_config(const Box& box) {
  Config config;
  for (const BoxNic& nic : box.nics) {
    if (!nic.ethernet || for_management(box, nic)) continue;
    for (size_t port = 0; port < nic.pci.size(); ++port) {
      PortConfig added;
      added.name = nic.pci.size() == 1 ? nic.name : fmt::format("{}p{}", nic.name, port);
      added.device = nic.pci[port];
      added.kind = DeviceKind::kPci;
      config.ports.push_back(std::move(added));
    }
  }
  return config;
}

std::string left_out(const Box& box) {
  std::string out;
  for (const BoxNic& nic : box.nics) {
    std::string why;
    if (!nic.ethernet)
      why = "no Ethernet";
    else if (for_management(box, nic))
      why = fmt::format("{:g} Gb/s, for management", nic.gbit_s);
    if (!why.empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", nic.name, why);
  }
  return out;
}

}  // namespace hecto::config
