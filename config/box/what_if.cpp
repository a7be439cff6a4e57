#include "config/box/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>

#include "config/box/pcie.hpp"

namespace hecto::config {
namespace {

using Outcome = tl::expected<void, std::string>;

constexpr std::string_view kWhatIfKeys =
    "cores, threads, ghz, cpu, memory_gbyte_s, intersocket_gbyte_s, ddio, budget.mpps, "
    "budget.gbit_s, budget.in_gbit_s, budget.out_gbit_s, NIC.gbit_s, NIC.mpps, NIC.ports, "
    "NIC.socket, NIC.pcie, or a constant of --explain";
constexpr unsigned kMostCores = 512, kMostThreads = 8, kMostNicPorts = 8;

Outcome refused(const std::string& change, const std::string& why) {
  return tl::unexpected(fmt::format("--what-if {}: {}", change, why));
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Change {
  const std::string& words;  // the whole of it
  std::string key, value;

  Outcome real(double low, double high, const std::function<void(double)>& set) const {
    const auto read = number(value);
    if (!read || !(*read >= low && *read <= high))
      return refused(words, fmt::format("{} cannot be; use {:g} to {:g}", value, low, high));
    set(*read);
    return {};
  }
  Outcome whole(unsigned low, unsigned high, const std::function<void(unsigned)>& set) const {
    const auto read = number(value);
    if (!read || *read != static_cast<double>(static_cast<unsigned>(*read)) || *read < low ||
        *read > high)
      return refused(words, fmt::format("{} cannot be; use {} to {}", value, low, high));
    set(static_cast<unsigned>(*read));
    return {};
  }
};

Outcome change_link(const Change& change, Box& box, BoxNic& nic) {
  unsigned gen = 0, lanes = 0;
  char more = 0;
  if (std::sscanf(change.value.c_str(), "%ux%u%c", &gen, &lanes, &more) != 2 || gen < 1 ||
      gen > 6 || lanes < 1 || lanes > 32)
    return refused(change.words,
                   fmt::format("{} is no link; use generation and lanes, 4x16", change.value));
  if (!nic.slot) {
    nic.slot = box.slots.size();
    box.slots.push_back({nic.name, nic.socket, std::nullopt, 0, 0, 0, ""});
  }
  nic.link_gbit_s = link_gbit_s(gt_s_of_generation(gen), lanes);
  nic.link = link_words(gt_s_of_generation(gen), lanes);
  BoxSlot& slot = box.slots[*nic.slot];
  slot.gen = gen;
  slot.lanes = lanes;
  slot.gbit_s = nic.link_gbit_s;
  slot.link = nic.link;
  return {};
}

void set_ports(BoxNic& nic, unsigned ports) {
  const std::string card = nic.pci.front().substr(0, nic.pci.front().rfind('.'));
  while (nic.pci.size() < ports) nic.pci.push_back(fmt::format("{}.{}", card, nic.pci.size()));
  nic.pci.resize(ports);
}

Outcome move_nic(const Change& change, Box& box, BoxNic& nic) {
  const auto to = number(change.value);
  for (size_t s = 0; s < box.sockets.size(); ++s)
    if (to && box.sockets[s].id == static_cast<int>(*to)) {
      nic.socket = s;
      if (nic.slot) {
        box.slots[*nic.slot].socket = s;
        box.slots[*nic.slot].hub.reset();
      }
      return {};
    }
  return refused(change.words, fmt::format("{} is no socket of this box", change.value));
}

Outcome change_nic(const Change& change, std::string_view key, Box& box, BoxNic& nic) {
  if (key == "gbit_s")
    return change.real(0.1, 1600, [&](double rate) {
      nic.gbit_s = rate;
      nic.rate_known = true;
      nic.most_gbit_s.reset();  // another card
    });
  if (key == "mpps") return change.real(0.001, 1e5, [&](double rate) { nic.mpps = rate; });
  if (key == "ports")
    return change.whole(1, kMostNicPorts, [&](unsigned ports) { set_ports(nic, ports); });
  if (key == "socket") return move_nic(change, box, nic);
  if (key == "pcie") return change_link(change, box, nic);
  return refused(change.words, fmt::format("no such key; use {}", kWhatIfKeys));
}

Outcome change_budget(const Change& change, std::string_view key, BoxBudget& budget) {
  std::optional<double>* into = key == "mpps"         ? &budget.mpps
                                : key == "gbit_s"     ? &budget.gbit_s
                                : key == "in_gbit_s"  ? &budget.in_gbit_s
                                : key == "out_gbit_s" ? &budget.out_gbit_s
                                                      : nullptr;
  if (into == nullptr)
    return refused(change.words, fmt::format("no such key; use {}", kWhatIfKeys));
  return change.real(0.001, 1e5, [&](double limit) { *into = limit; });
}

Outcome change_part(const Change& change, Box& box) {
  const size_t dot = change.key.rfind('.');
  const std::string part = change.key.substr(0, dot), key = change.key.substr(dot + 1);
  if (part == "budget") return change_budget(change, key, box.budget);
  std::string names;
  for (BoxNic& nic : box.nics) {
    if (nic.name == part) return change_nic(change, key, box, nic);
    names += (names.empty() ? "" : ", ") + nic.name;
  }
  return refused(change.words, names.empty()
                                   ? fmt::format("no NIC is called {}: the box has none", part)
                                   : fmt::format("no NIC is called {}; use {}", part, names));
}

Outcome change_constant(const Change& change, Box& box) {
  const auto constant = find_constant(change.key);
  if (!constant) return refused(change.words, fmt::format("no such key; use {}", kWhatIfKeys));
  const auto value = number(change.value);
  if (!value) return refused(change.words, change.value + " is no number");
  if (const auto why = refused_value(*constant, *value))
    return refused(change.words, fmt::format("{} {}", change.value, *why));
  box.constants.set(*constant, *value, "--what-if");
  return {};
}

}  // namespace

Outcome apply_what_if(const std::string& words, Box& box) {
  const size_t equals = words.find('=');
  if (equals == std::string::npos || equals + 1 == words.size())
    return refused(words, "write KEY=VALUE, as cores=16");
  const Change change{words, words.substr(0, equals), words.substr(equals + 1)};
  // What a socket of the board has is spread over its nodes: Box::sockets are those.
  auto each_node = [&](auto set) {
    return [&box, set](auto value) {
      std::map<int, unsigned> nodes, before;  // by package
      for (const BoxSocket& node : box.sockets) ++nodes[node.package];
      for (BoxSocket& node : box.sockets)
        set(node, value, nodes[node.package], before[node.package]++);
    };
  };
  auto each_socket = [&](auto set) {
    return [&box, set](auto value) {
      for (BoxSocket& socket : box.sockets) set(socket, value);
    };
  };
  if (change.key == "cores")
    return change.whole(1, kMostCores,
                        each_node([](BoxSocket& s, unsigned all, unsigned nodes, unsigned before) {
                          s.cores = std::max(1u, all / nodes + (before < all % nodes ? 1 : 0));
                        }));
  if (change.key == "threads")
    return change.whole(1, kMostThreads,
                        each_socket([](BoxSocket& s, unsigned threads) { s.threads = threads; }));
  if (change.key == "ghz")
    return change.real(0.1, 10, each_socket([](BoxSocket& s, double ghz) { s.ghz = ghz; }));
  if (change.key == "memory_gbyte_s")
    return change.real(0.1, 1e5, each_node([](BoxSocket& s, double rate, unsigned nodes, unsigned) {
                         s.memory_gbyte_s = rate / nodes;
                       }));
  if (change.key == "intersocket_gbyte_s")
    return change.real(0.1, 1e5, [&](double rate) { box.intersocket_gbyte_s = rate; });
  if (change.key == "cpu") {
    box.cpu = change.value;
    return {};
  }
  if (change.key == "ddio") {
    if (change.value != "true" && change.value != "false")
      return refused(words, change.value + " is neither true nor false");
    box.ddio = change.value == "true";
    return {};
  }
  return change.key.find('.') != std::string::npos ? change_part(change, box)
                                                   : change_constant(change, box);
}

}  // namespace hecto::config
