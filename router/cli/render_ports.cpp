#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

uint64_t lost(const json& port) {
  const json& rx = at(port, "rx");
  return whole(rx, "missed") + whole(rx, "no_mbuf") + whole(rx, "errors") +
         whole(at(port, "tx"), "errors");
}

std::string lost_words(const json& port) {
  const json& rx = at(port, "rx");
  std::string words;
  const auto add = [&](uint64_t number, const char* what) {
    if (number == 0) return;
    words += (words.empty() ? "" : ", ") + count(number) + " " + what;
  };
  add(whole(rx, "missed"), "missed: no free descriptor, the workers were too slow");
  add(whole(rx, "no_mbuf"), "without mbuf: the pool was empty");
  add(whole(rx, "errors"), "received with errors");
  add(whole(at(port, "tx"), "errors"), "not sent");
  return words;
}

// What offloads did to it.
std::string flawed_words(const json& rx) {
  std::string words;
  if (const uint64_t packets = whole(rx, "coalesced"); packets > 0)
    words = count(packets) + " coalesced: longer than a frame of its MTU";
  if (const uint64_t packets = whole(rx, "unfinished"); packets > 0)
    words += (words.empty() ? "" : ", ") + count(packets) + " sampled with unfinished checksums";
  return words;
}

std::string total_words(const json& way) {
  return fmt::format("{} packets, {}", count(whole(way, "packets")), bytes(number(way, "bytes")));
}

// Of all of them, under the table.
void add_totals(Table& table, const std::vector<json>& ports) {
  if (ports.size() < 2) return;
  double rx_pps = 0, rx_bps = 0, tx_pps = 0, tx_bps = 0;
  uint64_t losses = 0;
  for (const json& port : ports) {
    const json &rx = at(port, "rx"), &tx = at(port, "tx");
    rx_pps += number(rx, "pps");
    rx_bps += number(rx, "bps");
    tx_pps += number(tx, "pps");
    tx_bps += number(tx, "bps");
    losses += lost(port);
  }
  table.row({"all", "", "", "", packet_rate(rx_pps), bit_rate(rx_bps), packet_rate(tx_pps),
             bit_rate(tx_bps), count(losses)});
}

Cell link_cell(const json& port) {
  const json& link = at(port, "link");
  if (!flag(link, "up")) return {"down", Paint::kBad};
  if (!has(link, "speed_mbps")) return "up";
  return link_speed(number(link, "speed_mbps"));
}

std::string details(const json& port) {
  const std::string indent = "  ";
  const std::string socket = has(port, "socket") ? "socket " + text(port, "socket") : "no socket";
  std::string out =
      paragraph(text(port, "name") + ": ", text(port, "device") + ", " + text(port, "driver") +
                                               ", " + socket + ", " + text(port, "mac"));
  const json& offloads = at(port, "offloads");
  const auto line = [&](const char* head, const std::string& words) {
    if (!words.empty()) out += paragraph(indent + fmt::format("{:<9}", head), words);
  };
  line("total", "rx " + total_words(at(port, "rx")) + "; tx " + total_words(at(port, "tx")));
  line("asked", joined(list(offloads, "asked"), " "));
  line("given", joined(list(offloads, "given"), " "));
  const json& paths = at(port, "paths");
  for (const char* way : {"rx", "tx"})
    if (has(paths, way)) line(fmt::format("{} path", way).c_str(), text(paths, way));
  for (const json& sentence : list(port, "refused")) line("refused", plain(sentence));
  for (const json& sentence : list(port, "trouble")) line("trouble", plain(sentence));
  line("lost", lost_words(port));
  line("came", flawed_words(at(port, "rx")));
  return out;
}

}  // namespace

std::string render_ports(const json& answer, Style style) {
  std::vector<json> ports = list(answer, "ports");
  // Trouble first: down, then losing packets; else the order of the configuration.
  std::stable_sort(ports.begin(), ports.end(), [](const json& a, const json& b) {
    const bool up_a = flag(at(a, "link"), "up"), up_b = flag(at(b, "link"), "up");
    return up_a != up_b ? up_b : lost(a) > lost(b);
  });
  Table table({{"port"},
               {"link"},
               {"mtu", Align::kRight},
               {"queues", Align::kRight},
               {"rx", Align::kRight},
               {"", Align::kRight},
               {"tx", Align::kRight},
               {"", Align::kRight},
               {"lost", Align::kRight}});
  std::string below;
  for (const json& port : ports) {
    const json &rx = at(port, "rx"), &tx = at(port, "tx"), &queues = at(port, "queues");
    const uint64_t losses = lost(port);
    table.row({text(port, "name"), link_cell(port), text(port, "mtu"),
               text(queues, "rx") + "/" + text(queues, "tx"), packet_rate(number(rx, "pps")),
               bit_rate(number(rx, "bps")), packet_rate(number(tx, "pps")),
               bit_rate(number(tx, "bps")),
               Cell(count(losses), losses > 0 ? Paint::kWarn : Paint::kPlain)});
    below += "\n" + details(port);
  }
  add_totals(table, ports);
  return table.text(style) + below;
}

std::string render_interfaces(const json& answer, Style style) {
  std::vector<json> interfaces = list(answer, "interfaces");
  std::stable_sort(interfaces.begin(), interfaces.end(),
                   [](const json& a, const json& b) { return !flag(a, "up") && flag(b, "up"); });
  Table table({{"interface"},
               {"state"},
               {"vlan", Align::kRight},
               {"mtu", Align::kRight},
               {"mac"},
               {"urpf"},
               {"linux", Align::kLeft, true},
               {"addresses", Align::kLeft, true}});
  Table counters({{"interface"},
                  {"rx packets", Align::kRight},
                  {"rx", Align::kRight},
                  {"", Align::kRight},
                  {"tx packets", Align::kRight},
                  {"tx", Align::kRight},
                  {"", Align::kRight}});
  for (const json& interface : interfaces) {
    const json& addresses = list(interface, "addresses");
    std::string linux_side =
        has(interface, "tap")
            ? fmt::format("{} in {} ({})", text(interface, "tap"), text(interface, "namespace"),
                          text(interface, "ifindex"))
            : std::string();
    if (has(interface, "macvlan_of")) linux_side += ", macvlan of " + text(interface, "macvlan_of");
    if (has(interface, "vrf")) linux_side += ", VRF " + text(interface, "vrf");
    if (const json& master = at(interface, "master"); master.is_object())
      linux_side +=
          fmt::format(", port of {} ({}): Linux's", text(master, "name"), text(master, "kind"));
    if (const json& tunnel = at(interface, "tunnel"); tunnel.is_object())
      linux_side += fmt::format(", {} tunnel {} to {}", text(tunnel, "kind"), text(tunnel, "local"),
                                text(tunnel, "remote"));
    const bool up = flag(interface, "up");
    table.row({text(interface, "name"), Cell(up ? "up" : "down", up ? Paint::kPlain : Paint::kBad),
               tags(interface), text(interface, "mtu"), text(interface, "mac"),
               text(interface, "urpf") == "off" ? std::string() : text(interface, "urpf"),
               linux_side, addresses.empty() ? std::string("none") : plain(addresses[0])});
    for (size_t i = 1; i < addresses.size(); ++i) {
      table.row({"", "", "", "", "", "", "", plain(addresses[i])});
    }
    const json& c = at(interface, "counters");
    if (c.is_null()) continue;
    counters.row({text(interface, "name"), count(whole(c, "rx_packets")),
                  packet_rate(number(c, "rx_pps")), bit_rate(number(c, "rx_bps")),
                  count(whole(c, "tx_packets")), packet_rate(number(c, "tx_pps")),
                  bit_rate(number(c, "tx_bps"))});
  }
  return table.text(style) + (counters.empty() ? "" : "\n" + counters.text(style));
}

}  // namespace hecto::cli
