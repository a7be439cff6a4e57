// Reading a box file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>

#include "config/box/box_parts.hpp"
#include "config/box/pcie.hpp"

namespace hecto::config {
namespace {

constexpr size_t kMostCards = 64;
constexpr uint64_t kMostNodes = 64;
constexpr unsigned kMostPorts = 64;  // of a configuration

constexpr std::string_view kKeys[] = {"name",       "cpu",         "sockets",  "nodes",  "cores",
                                      "l3_cores",   "threads",     "ghz",      "memory", "ddio",
                                      "pcie_lanes", "intersocket", "hubs",     "slots",  "nics",
                                      "gpus",       "budget",      "constants"};
constexpr std::string_view kMemoryKeys[] = {"channels", "mt_s"};
constexpr std::string_view kIntersocketKeys[] = {"gbyte_s", "links"};
constexpr std::string_view kHubKeys[] = {"socket"};
constexpr std::string_view kSlotKeys[] = {"socket", "hub", "gen", "lanes"};
constexpr std::string_view kNicKeys[] = {"slot", "socket", "ports", "gbit_s", "mpps",
                                         "gen",  "lanes",  "pci",   "id"};
constexpr std::string_view kBudgetKeys[] = {"mpps", "gbit_s", "in_gbit_s", "out_gbit_s"};
constexpr std::string_view kGpuKeys[] = {"slot"};

template <typename Part>
std::vector<std::string_view> names(const std::vector<Part>& parts) {
  std::vector<std::string_view> out;
  for (const Part& part : parts) out.push_back(part.name);
  return out;
}

class Reading {
 public:
  Reading(const Value& file, Box& box)
      : fields_(file, kKeys, "sockets, cores, slots, nics"), box_(box) {}

  void run() {
    if (const Value* name = fields_.get("name")) box_.name = name->text("words").value_or("");
    if (const Value* cpu = fields_.get("cpu"))
      box_.cpu = cpu->text("its model, as /proc/cpuinfo has it").value_or("");
    read_sockets();
    read_intersocket();
    read_hubs();
    read_slots();
    read_nics();
    read_gpus();
    read_budget();
    if (const Value* ddio = fields_.get("ddio")) box_.ddio = ddio->boolean().value_or(true);
    if (const Value* constants = fields_.get("constants"))
      read_constants(*constants, fmt::format("{}: constants", box_.source), box_.constants);
  }

 private:
  uint64_t whole(const Value* value, uint64_t low, uint64_t high, uint64_t otherwise) {
    return value == nullptr ? otherwise : value->integer(low, high).value_or(otherwise);
  }

  void read_sockets() {
    packages_ = whole(fields_.get("sockets"), 1, 8, 1);
    const Value* nodes_of_one = fields_.get("nodes");
    const uint64_t nodes = whole(nodes_of_one, 1, 8, 1);
    BoxSocket socket;
    const auto cores = static_cast<unsigned>(
        whole(fields_.need("cores", "the cores of a socket, as cores: 32"), 1, 512, 1));
    if (nodes_of_one != nullptr && cores % nodes != 0)
      nodes_of_one->refuse(fmt::format("does not divide {} cores; use one that does", cores));
    socket.cores = std::max(1u, cores / static_cast<unsigned>(nodes));
    socket.l3_cores = static_cast<unsigned>(whole(fields_.get("l3_cores"), 1, 512, 0));
    socket.threads = static_cast<unsigned>(whole(fields_.get("threads"), 1, 8, 1));
    if (const Value* ghz = fields_.need("ghz", "what all cores hold under load, as ghz: 2.6"))
      socket.ghz = ghz->number(0.1, 10).value_or(1);
    if (const Value* memory = fields_.get("memory")) {
      const Fields of(*memory, kMemoryKeys, "as {channels: 8, mt_s: 4800}");
      const Value* channels = of.need("channels", "those of a socket that hold memory");
      const Value* mt_s = of.need("mt_s", "as mt_s: 4800");
      if (channels != nullptr && mt_s != nullptr)
        socket.memory_gbyte_s = static_cast<double>(channels->integer(1, 32).value_or(1)) *
                                mt_s->number(100, 50000).value_or(100) * 8 / 1000 /
                                static_cast<double>(nodes);
    }
    for (uint64_t i = 0; i < packages_ * nodes; ++i) {
      socket.id = static_cast<int>(i);
      socket.package = static_cast<int>(i / nodes);
      box_.sockets.push_back(socket);
    }
  }

  void read_intersocket() {
    const Value* link = fields_.get("intersocket");
    if (link == nullptr) return;
    if (packages_ == 1)
      link->complain("a box of one socket has no such link; remove it, or say sockets: 2");
    const Fields of(*link, kIntersocketKeys, "as {gbyte_s: 48, links: 3}");
    if (const Value* rate = of.need("gbyte_s", "each direction of a link, as gbyte_s: 48"))
      box_.intersocket_gbyte_s = rate->number(0.1, 10000).value_or(1) *
                                 static_cast<double>(whole(of.get("links"), 1, 16, 1));
  }

  std::optional<size_t> socket_named(const Value* value) {
    if (value == nullptr) return std::nullopt;
    const auto number = value->integer(0, kMostNodes - 1);
    if (!number) return std::nullopt;
    if (*number < box_.sockets.size()) return *number;
    value->refuse(fmt::format(
        "is no socket of this box; use {}",
        box_.sockets.size() == 1 ? "0" : fmt::format("0 to {}", box_.sockets.size() - 1)));
    return std::nullopt;
  }

  // The position of the part that the value names.
  template <typename Part>
  std::optional<size_t> part_named(const Value* value, const std::vector<Part>& parts,
                                   std::string_view kind) {
    if (value == nullptr) return std::nullopt;
    const auto name = value->text(fmt::format("the name of a {}", kind));
    if (!name) return std::nullopt;
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].name == *name) return i;
    value->refuse(parts.empty() ? fmt::format("is no {0} of this box; add it under {0}s", kind)
                                : fmt::format("is no {} of this box; use {}", kind,
                                              fmt::join(names(parts), ", ")));
    return std::nullopt;
  }

  std::vector<Value::Entry> parts(std::string_view key, std::string_view right) {
    const Value* map = fields_.get(key);
    return map == nullptr ? std::vector<Value::Entry>() : map->entries(right, kMostCards);
  }

  void read_hubs() {
    for (const Value::Entry& entry : parts("hubs", "hubs by name, as {ioh0: {socket: 0}}")) {
      const Fields of(entry.value, kHubKeys, "as {socket: 0}");
      const auto socket = socket_named(of.need("socket", "the socket it hangs on"));
      box_.hubs.push_back({entry.key, socket.value_or(0)});
    }
  }

  void read_slots() {
    std::map<std::pair<bool, size_t>, uint64_t> in_use;
    const uint64_t lanes_of_one = whole(fields_.get("pcie_lanes"), 1, 1024, 0);
    for (const Value::Entry& entry :
         parts("slots", "slots by name, as {s1: {socket: 0, gen: 5, lanes: 16}}")) {
      const Fields of(entry.value, kSlotKeys, "as {socket: 0, gen: 5, lanes: 16}");
      const Value *on_socket = of.get("socket"), *on_hub = of.get("hub");
      if ((on_socket == nullptr) == (on_hub == nullptr))
        entry.value.complain("hangs on one of the two; write socket: 0, or hub: NAME");
      BoxSlot slot;
      slot.name = entry.key;
      slot.hub = part_named(on_hub, box_.hubs, "hub");
      slot.socket = slot.hub ? box_.hubs[*slot.hub].socket : socket_named(on_socket).value_or(0);
      const Value* gen = of.need("gen", "the generation of PCIe, 1 to 6");
      const Value* lanes = of.need("lanes", "1, 2, 4, 8 or 16");
      slot.gen = static_cast<unsigned>(whole(gen, 1, 6, 1));
      slot.lanes = width(lanes, 1);
      slot.gbit_s = link_gbit_s(gt_s_of_generation(slot.gen), slot.lanes);
      slot.link = link_words(gt_s_of_generation(slot.gen), slot.lanes);
      const int package = box_.sockets[slot.socket].package;
      uint64_t& used =
          in_use[{slot.hub.has_value(), slot.hub.value_or(static_cast<size_t>(package))}];
      used += slot.lanes;
      if (lanes != nullptr && lanes_of_one != 0 && used > lanes_of_one)
        lanes->complain(fmt::format(
            "{} lanes in use with this slot, {} has {}; use fewer or narrower slots, or raise "
            "pcie_lanes",
            used, slot.hub ? "hub " + box_.hubs[*slot.hub].name : fmt::format("socket {}", package),
            lanes_of_one));
      box_.slots.push_back(std::move(slot));
    }
  }

  unsigned width(const Value* lanes, unsigned otherwise) {
    const auto width = static_cast<unsigned>(whole(lanes, 1, 32, otherwise));
    if (lanes != nullptr && !std::has_single_bit(width))
      lanes->refuse("is no width of a slot; use 1, 2, 4, 8 or 16");
    return width;
  }

  // What the card's PCI ids tell; null without them.
  const NicModel* read_id(const Value* value, BoxNic& nic) {
    if (value == nullptr) return nullptr;
    const auto text = value->text("vendor and device, as \"8086:1592\"");
    if (!text) return nullptr;
    const auto id = parse_pci_id(*text);
    if (!id) {
      value->refuse("are no PCI ids; use vendor and device as `lspci -n` has them, \"8086:1592\"");
      return nullptr;
    }
    const NicModel* model = find_nic_model(id->vendor, id->device);
    if (model == nullptr) {
      box_.notes.push_back(
          fmt::format("{}: nothing is known here of a NIC {}; its ports, gbit_s and mpps count.",
                      nic.name, *text));
      return nullptr;
    }
    apply_model(*model, nic);
    return model;
  }

  // The slower of slot and card.
  void set_link(const Fields& of, const NicModel* model, BoxNic& nic) {
    if (!nic.slot) return;
    const BoxSlot& slot = box_.slots[*nic.slot];
    const bool told = model != nullptr && model->lanes > 0;
    const auto gen =
        static_cast<unsigned>(whole(of.get("gen"), 1, 6, told ? model->gen : slot.gen));
    const unsigned lanes = width(of.get("lanes"), told ? model->lanes : slot.lanes);
    const double gt_s = gt_s_of_generation(std::min(gen, slot.gen));
    nic.link_gbit_s = link_gbit_s(gt_s, std::min(lanes, slot.lanes));
    nic.link = link_words(gt_s, std::min(lanes, slot.lanes));
    if (lanes > slot.lanes || gen > slot.gen)
      box_.notes.push_back(fmt::format("{} could use {} and sits in slot {}, {}.", nic.name,
                                       link_words(gt_s_of_generation(gen), lanes), slot.name,
                                       slot.link));
  }

  // The slot, if no other card is in it.
  std::optional<size_t> take_slot(const Value* value, const std::string& card) {
    const auto slot = part_named(value, box_.slots, "slot");
    if (!slot) return std::nullopt;
    const auto [holder, fresh] = cards_.emplace(*slot, card);
    if (!fresh)
      value->complain(fmt::format("slot {} holds {} already; use a free one",
                                  box_.slots[*slot].name, holder->second));
    return slot;
  }

  void read_nics() {
    unsigned all_ports = 0;
    for (const Value::Entry& entry :
         parts("nics", "NICs by name, as {n0: {slot: s1, ports: 2, gbit_s: 100}}")) {
      const Fields of(entry.value, kNicKeys, "as {slot: s1, ports: 2, gbit_s: 100}");
      const Value *in_slot = of.get("slot"), *on_socket = of.get("socket");
      if ((in_slot == nullptr) == (on_socket == nullptr))
        entry.value.complain("is in one place; write slot: NAME, or socket: 0 where no slot shows");
      BoxNic nic;
      nic.name = entry.key;
      nic.slot = take_slot(in_slot, entry.key);
      nic.socket = nic.slot ? box_.slots[*nic.slot].socket : socket_named(on_socket).value_or(0);
      const NicModel* model = read_id(of.get("id"), nic);
      set_link(of, model, nic);
      const auto ports = static_cast<unsigned>(
          whole(of.get("ports"), 1, 8, model == nullptr ? 1 : std::max(1u, model->ports)));
      all_ports += ports;
      if (all_ports > kMostPorts)
        entry.value.complain(
            fmt::format("{} ports with this one; use at most {}", all_ports, kMostPorts));
      // Each needs a PCI address that configurations and placement can name.
      for (unsigned port = 0; port < ports; ++port)
        nic.pci.push_back(fmt::format("0000:{:02x}:00.{}", box_.nics.size() + 1, port));
      if (const Value* pci = of.get("pci")) read_addresses(*pci, nic);
      const bool rate_told = model != nullptr && model->gbit_s > 0;
      const Value* rate = rate_told
                              ? of.get("gbit_s")
                              : of.need("gbit_s", "the wire's rate of a port, as gbit_s: 100");
      if (rate != nullptr) nic.gbit_s = rate->number(0.1, 1600).value_or(1);
      nic.rate_known = rate != nullptr || !rate_told || model->one_rate;
      if (!nic.rate_known) box_.notes.push_back(most_of_id(*model, nic));
      note_card(nic, box_);
      if (const Value* mpps = of.get("mpps")) nic.mpps = mpps->number(0.001, 100000);
      box_.nics.push_back(std::move(nic));
    }
  }

  void read_addresses(const Value& list, BoxNic& nic) {
    const auto items = list.items("an address a port, as [\"0000:17:00.0\", \"0000:17:00.1\"]");
    if (items.size() != nic.pci.size())
      list.complain(
          fmt::format("{} addresses for {} ports; name each port's", items.size(), nic.pci.size()));
    for (size_t i = 0; i < std::min(items.size(), nic.pci.size()); ++i)
      nic.pci[i] = items[i].text("a PCI address, as \"0000:17:00.0\"").value_or(nic.pci[i]);
  }

  void read_gpus() {
    for (const Value::Entry& entry : parts("gpus", "GPUs by name, as {g0: {slot: s2}}")) {
      const Fields of(entry.value, kGpuKeys, "as {slot: s2}");
      const auto slot = take_slot(of.need("slot", "where it is"), entry.key);
      if (slot) box_.gpus.push_back({entry.key, *slot});
    }
  }

  void read_budget() {
    const Value* budget = fields_.get("budget");
    if (budget == nullptr) return;
    const Fields of(*budget, kBudgetKeys, "as {mpps: 5, gbit_s: 50}");
    auto read = [&](std::string_view key, std::optional<double>& into) {
      if (const Value* value = of.get(key)) into = value->number(0.001, 100000);
    };
    read("mpps", box_.budget.mpps);
    read("gbit_s", box_.budget.gbit_s);
    read("in_gbit_s", box_.budget.in_gbit_s);
    read("out_gbit_s", box_.budget.out_gbit_s);
  }

  Fields fields_;
  Box& box_;
  uint64_t packages_ = 1;
  std::map<size_t, std::string> cards_;  // by slot
};

}  // namespace

tl::expected<Box, Problems> parse_box(std::string_view yaml, const std::string& file_name) {
  Box box;
  box.source = file_name;
  const auto read =
      read_yaml(yaml, file_name, "begin with sockets: 1, cores: 8, ghz: 3, then slots and nics",
                [&](const Value& file) { Reading(file, box).run(); });
  if (!read) return tl::unexpected(read.error());
  return box;
}

tl::expected<Box, Problems> read_box(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_box(*text, file);
}

}  // namespace hecto::config
