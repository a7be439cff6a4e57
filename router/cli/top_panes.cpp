#include "router/cli/top_panes.hpp"

#include <algorithm>
#include <utility>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;

constexpr double kOutsideTheFrame_bits = 8 * (4 + 8 + 12);  // FCS, preamble, gap
constexpr size_t kRateWidth = 9;                            // "18.2 Mpps"

const json kNone;

Cell load_cell(double share) {
  return {percent(share), share >= kBusy ? Paint::kWarn : Paint::kPlain};
}

// Of a rate that should be 0.
Cell loss_cell(double pps, Paint paint = Paint::kWarn) {
  return pps > 0 ? Cell(packet_rate(pps), paint) : Cell("0");
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> lines_of(const Table& table, Style style, const char* nothing) {
  if (table.empty()) return {painted(nothing, Paint::kDim, style)};
  return split(table.text(style));
}

template <typename Row, typename Key>
void heaviest_first(std::vector<Row>& rows, Key key) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return key(a) > key(b); });
}

// The columns of rates: what is not sorted by goes first when the screen is narrow.
Column rate_column(const char* title, bool stays, uint8_t leaves) {
  return {title, Align::kRight, false, stays ? uint8_t{0} : leaves, kRateWidth};
}

struct PortRow {
  std::string name;
  Cell link;
  Rates rx, tx;
  double load_percent = -1;  // of the fuller direction, as the wire counts; below 0: not known
  double missed = 0;
};

double wire_bps(const Rates& rates) {
  return rates.bps + rates.pps * kOutsideTheFrame_bits;
}

PortRow port_row(const Growth& growth, const json& port) {
  const json& earlier = growth.earlier("ports", "ports", port, "name");
  const json& link = at(port, "link");
  PortRow row;
  row.name = text(port, "name");
  row.rx = rates_of(growth, at(port, "rx"), at(earlier, "rx"));
  row.tx = rates_of(growth, at(port, "tx"), at(earlier, "tx"));
  row.missed = missed_pps(growth, port);
  const double speed_bps = number(link, "speed_mbps") * 1e6;
  if (speed_bps > 0)
    row.load_percent = 100 * std::max(wire_bps(row.rx), wire_bps(row.tx)) / speed_bps;
  if (!flag(link, "up"))
    row.link = {"down", Paint::kBad};
  else
    row.link = speed_bps > 0 ? link_speed(number(link, "speed_mbps")) : std::string("up");
  return row;
}

std::vector<std::string> ports_pane(const Growth& growth, bool by_bits, Style style) {
  std::vector<PortRow> rows;
  for (const json& port : list(growth.now("ports"), "ports"))
    rows.push_back(port_row(growth, port));
  heaviest_first(rows, [&](const PortRow& row) {
    return by_bits ? row.rx.bps + row.tx.bps : row.rx.pps + row.tx.pps;
  });
  Table table({{"port", Align::kLeft, true},
               {"link", Align::kLeft, false, 2},
               rate_column("rx", !by_bits, 1),
               rate_column("rx", by_bits, 1),
               rate_column("tx", !by_bits, 1),
               rate_column("tx", by_bits, 1),
               {"load", Align::kRight, false, 4},
               {"missed", Align::kRight, false, 3}});
  for (const PortRow& row : rows)
    table.row({row.name, row.link, packet_rate(row.rx.pps), bit_rate(row.rx.bps),
               packet_rate(row.tx.pps), bit_rate(row.tx.bps),
               row.load_percent < 0 ? Cell("-") : load_cell(row.load_percent),
               loss_cell(row.missed)});
  return lines_of(table, style, "ports: none");
}

std::vector<std::string> workers_pane(const Growth& growth, Style style) {
  const json& answer = list(growth.now("workers"), "workers");
  std::vector<json> rows(answer.begin(), answer.end());
  heaviest_first(rows, [](const json& worker) { return number(worker, "load_percent"); });
  Table table({{"core", Align::kRight},
               {"socket", Align::kRight, false, 2},
               {"load", Align::kRight},
               {"Mpps", Align::kRight, false, 0, 6},
               {"cycles/packet", Align::kRight, false, 4},
               {"burst", Align::kRight, false, 5},
               {"waits", Align::kRight, false, 3},
               {"queues", Align::kLeft, true, 1}});
  const auto digit = [](double value) { return decimal(value); };
  for (const json& worker : rows) {
    const double waits = number(worker, "waiting_percent");
    table.row({text(worker, "cpu"), text(worker, "socket"),
               load_cell(number(worker, "load_percent")), decimal(number(worker, "pps") / 1e6),
               shown(worker, "cycles_per_packet", digit), shown(worker, "burst_fill", digit),
               Cell(shown(worker, "waiting_percent", percent),
                    waits > kWaits ? Paint::kBad : Paint::kPlain),
               queues_of(worker)});
  }
  return lines_of(table, style, "workers: none");
}

std::vector<std::string> drops_pane(const Growth& growth, Style style) {
  static const json nothing_yet = {{"packets", 0}};  // a reason is listed from its first packet on
  std::vector<std::pair<double, const json*>> rows;
  for (const json& drop : list(growth.now("drops"), "drops")) {
    const json& row = growth.earlier("drops", "drops", drop, "reason");
    const json& earlier = row.is_null() && growth.known() ? nothing_yet : row;
    const double pps = growth.rate(drop, earlier, "packets", "pps");
    if (pps > 0) rows.emplace_back(pps, &drop);
  }
  heaviest_first(rows, [](const auto& row) { return row.first; });
  Table table({{"drops", Align::kLeft, true},
               {"rate", Align::kRight, false, 0, kRateWidth},
               {"packets", Align::kRight, false, 3},
               {"stage", Align::kLeft, false, 2},
               {"", Align::kLeft, true, 1, 16}});
  for (const auto& [pps, drop] : rows) {
    const bool over = text(*drop, "kind") == "punt_limited";
    table.row(
        {Cell(text(*drop, "reason"), Paint::kWarn), packet_rate(pps),
         count(whole(*drop, "packets")), text(*drop, "stage") + (over ? ", over the bucket" : ""),
         has(*drop, "example") ? "e.g. " + text(*drop, "example") : text(*drop, "description")});
  }
  return lines_of(table, style, "drops: none grow");
}

struct EgressRow {
  std::string name, addresses;
  Rates rates;
};

// Interfaces where they are counted, else ports.
std::vector<EgressRow> egress_rows(const Growth& growth) {
  std::vector<EgressRow> rows;
  for (const json& interface : list(growth.now("interfaces"), "interfaces")) {
    const json& counters = at(interface, "counters");
    if (counters.is_null()) continue;
    const json& earlier =
        at(growth.earlier("interfaces", "interfaces", interface, "name"), "counters");
    rows.push_back({text(interface, "name"),
                    joined(list(interface, "addresses"), " "),
                    {growth.rate(counters, earlier, "tx_packets", "tx_pps"),
                     8 * growth.rate(counters, earlier, "tx_bytes", nullptr)}});
    if (!growth.known()) rows.back().rates.bps = number(counters, "tx_bps");
  }
  if (!rows.empty()) return rows;
  for (const json& port : list(growth.now("ports"), "ports"))
    rows.push_back(
        {text(port, "name"), "interface counters are off: by port", port_row(growth, port).tx});
  return rows;
}

std::vector<std::string> egress_pane(const Growth& growth, bool by_bits, Style style) {
  std::vector<EgressRow> rows = egress_rows(growth);
  const auto key = [&](const EgressRow& row) { return by_bits ? row.rates.bps : row.rates.pps; };
  heaviest_first(rows, key);
  double all = 0;
  for (const EgressRow& row : rows) all += key(row);
  Table table({{"egress", Align::kLeft, true},
               rate_column("tx", !by_bits, 2),
               rate_column("tx", by_bits, 2),
               {"share", Align::kRight},
               {"addresses", Align::kLeft, true, 1, 16}});
  for (const EgressRow& row : rows)
    if (key(row) > 0)
      table.row({row.name, packet_rate(row.rates.pps), bit_rate(row.rates.bps),
                 percent(100 * key(row) / all), row.addresses});
  return lines_of(table, style, "egress: nothing is sent");
}

std::vector<std::string> flows_pane(const Growth& growth, Style style) {
  const json& answer = growth.now(kTopFlows);
  if (answer.is_null()) return {painted("flows: not asked for yet", Paint::kDim, style)};
  return split(render_top_flows(answer, style));
}

struct PuntRow {
  const json* of;
  double passed = 0, dropped = 0;
};

std::vector<std::string> punt_pane(const Growth& growth, Style style) {
  std::vector<PuntRow> rows;
  for (const json& each : list(growth.now("punt"), "classes")) {
    const json& earlier = growth.earlier("punt", "classes", each, "class");
    const PuntRow row{&each, growth.rate(each, earlier, "passed", "pps"),
                      growth.rate(each, earlier, "dropped", "drop_pps")};
    if (row.passed + row.dropped > 0) rows.push_back(row);
  }
  heaviest_first(rows, [](const PuntRow& row) { return row.passed + row.dropped; });
  Table table({{"punt", Align::kLeft, true},
               {"passed", Align::kRight, false, 0, kRateWidth},
               {"dropped", Align::kRight, false, 0, kRateWidth},
               {"limit", Align::kRight, false, 2},
               {"", Align::kLeft, true, 1, 16}});
  for (const PuntRow& row : rows)
    table.row({text(*row.of, "class"), packet_rate(row.passed), loss_cell(row.dropped),
               packet_rate(number(*row.of, "limit_pps")), text(*row.of, "description")});
  return lines_of(table, style, "punt: nothing goes to Linux");
}

}  // namespace

// A counter of another run of the router says nothing of this one.
Growth::Growth(const TopSample& now, const TopSample& before)
    : now_(now.answers), before_(before.answers) {
  const json &is = at(now_, "summary"), &was = at(before_, "summary");
  const bool same = has(was, "pid") && at(was, "pid") == at(is, "pid") &&
                    whole(was, "uptime_s") <= whole(is, "uptime_s");
  if (same) seconds_ = std::max(0.0, now.at_s - before.at_s);
}

const json& Growth::now(const char* noun) const {
  return at(now_, noun);
}

const json& Growth::earlier(const char* noun) const {
  return known() ? at(before_, noun) : kNone;
}

const json& Growth::earlier(const char* noun, const char* rows, const json& row,
                            const char* key) const {
  for (const json& old : list(earlier(noun), rows))
    if (at(old, key) == at(row, key)) return old;
  return kNone;
}

double Growth::rate(const json& row, const json& earlier, const char* counter,
                    const char* own_rate) const {
  const uint64_t is = whole(row, counter), was = whole(earlier, counter);
  if (known() && has(earlier, counter) && is >= was)
    return static_cast<double>(is - was) / seconds_;
  return own_rate == nullptr ? 0 : number(row, own_rate);
}

Rates rates_of(const Growth& growth, const json& way, const json& earlier) {
  if (!growth.known() || !has(earlier, "packets")) return {number(way, "pps"), number(way, "bps")};
  return {growth.rate(way, earlier, "packets", "pps"),
          8 * growth.rate(way, earlier, "bytes", nullptr)};
}

double missed_pps(const Growth& growth, const json& port) {
  const json& rx = at(port, "rx");
  const json& earlier = at(growth.earlier("ports", "ports", port, "name"), "rx");
  return growth.rate(rx, earlier, "missed", nullptr) + growth.rate(rx, earlier, "no_mbuf", nullptr);
}

std::vector<std::string> top_pane(TopPane pane, const Growth& growth, bool by_bits, Style style) {
  switch (pane) {
    case TopPane::kPorts:
      return ports_pane(growth, by_bits, style);
    case TopPane::kWorkers:
      return workers_pane(growth, style);
    case TopPane::kDrops:
      return drops_pane(growth, style);
    case TopPane::kEgress:
      return egress_pane(growth, by_bits, style);
    case TopPane::kPunt:
      return punt_pane(growth, style);
    case TopPane::kFlows:
      return flows_pane(growth, style);
    case TopPane::kAll:
      break;
  }
  return {};
}

}  // namespace hecto::cli
