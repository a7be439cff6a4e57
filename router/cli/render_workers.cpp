#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

std::string one_digit(double value) {
  return decimal(value);
}

template <typename Key>
std::vector<json> sorted_by(const json& items, Key key) {
  std::vector<json> rows = items;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const json& a, const json& b) { return key(a) > key(b); });
  return rows;
}

std::string balance(const json& totals, Style style) {
  const uint64_t received = whole(totals, "received"), injected = whole(totals, "injected");
  const uint64_t sent = whole(totals, "transmitted"), punted = whole(totals, "punted");
  const uint64_t dropped = whole(totals, "dropped"), inside = whole(totals, "in_flight");
  std::string line = "received " + count(received);
  const uint64_t made = whole(totals, "fragments");
  const double unaccounted = number(totals, "unaccounted");
  if (injected > 0) line += " + from Linux " + count(injected);
  if (made > 0) line += " + cut for tunnels " + count(made);
  if (const uint64_t copies = whole(totals, "copies"); copies > 0)
    line += " + copies for mirrors " + count(copies);
  line += fmt::format(" = transmitted {} + punted {} + dropped {}", count(sent), count(punted),
                      count(dropped));
  if (inside > 0) line += " + in flight " + count(inside);
  line = paragraph("", line);
  if (const uint64_t told = whole(totals, "too_big_answered"); told > 0)
    line += fmt::format(
        "of those transmitted {} are answers to senders: too big for the way on (hecto show mtu)\n",
        count(told));
  if (unaccounted != 0) {
    line += painted(
        fmt::format("! the sum does not fit: {:.0f} packets {}: a fault of the router, report it\n",
                    std::abs(unaccounted),
                    unaccounted > 0 ? "are unaccounted for" : "are counted twice"),
        Paint::kBad, style);
  }
  const uint64_t missed = whole(totals, "missed"), no_mbuf = whole(totals, "no_mbuf");
  if (missed + no_mbuf > 0) {
    line += painted(fmt::format("! lost before a worker saw them: {} missed by NICs, {} without "
                                "mbuf\n",
                                count(missed), count(no_mbuf)),
                    Paint::kWarn, style);
  }
  return line;
}

}  // namespace

std::string render_workers(const json& answer, Style style) {
  const auto workers = sorted_by(list(answer, "workers"),
                                 [](const json& worker) { return number(worker, "load_percent"); });
  Table load({{"socket", Align::kRight},
              {"core", Align::kRight},
              {"queues", Align::kLeft, true},
              {"load", Align::kRight},
              {"Mpps", Align::kRight},
              {"cycles/packet", Align::kRight},
              {"burst", Align::kRight},
              {"idle", Align::kRight},
              {"waits", Align::kRight}});
  Table stages({{"core", Align::kRight},
                {"receive", Align::kRight},
                {"classify", Align::kRight},
                {"lookup", Align::kRight},
                {"rewrite", Align::kRight},
                {"transmit", Align::kRight},
                {"isa"},
                {"when idle"},
                {"features", Align::kLeft, true}});
  std::string spreads, warnings;
  for (const json& worker : workers) {
    const bool busy = number(worker, "load_percent") >= kBusy;
    const bool waits = number(worker, "waiting_percent") > kWaits;
    load.row(
        {text(worker, "socket"), text(worker, "cpu"), queues_of(worker),
         Cell(percent(number(worker, "load_percent")), busy ? Paint::kWarn : Paint::kPlain),
         decimal(number(worker, "pps") / 1e6), shown(worker, "cycles_per_packet", one_digit),
         shown(worker, "burst_fill", one_digit), percent(number(worker, "idle_percent")),
         Cell(waits ? percent(number(worker, "waiting_percent")) : std::string(), Paint::kBad)});
    if (waits)
      warnings += painted(
          paragraph("! ",
                    fmt::format("core {}: the worker waits for its CPU {} of the time and runs "
                                "{}; something else runs there, and its load is of the rest",
                                text(worker, "cpu"), percent(number(worker, "waiting_percent")),
                                percent(number(worker, "cpu_percent")))),
          Paint::kBad, style);
    const json& cycles = at(worker, "stages");
    stages.row({text(worker, "cpu"), shown(cycles, "receive", one_digit),
                shown(cycles, "classify", one_digit), shown(cycles, "lookup", one_digit),
                shown(cycles, "rewrite", one_digit), shown(cycles, "transmit", one_digit),
                text(worker, "lookup_isa"), text(worker, "idle_in_force"),
                joined(list(worker, "features"), " ")});
    for (const json& line : list(worker, "spread"))
      spreads += paragraph("", fmt::format("core {}: {}", text(worker, "cpu"), plain(line)));
    for (const json& why : list(worker, "no_wakeup"))
      warnings += painted(
          paragraph("! ", fmt::format("core {}: idle: {}, but it sleeps where it would wait: {}",
                                      text(worker, "cpu"), text(worker, "idle"), plain(why))),
          Paint::kWarn, style);
    if (const uint64_t remote = whole(worker, "remote_queues"); remote > 0) {
      warnings +=
          painted(fmt::format("! core {} polls {} {} of another socket; see hecto plan\n",
                              text(worker, "cpu"), remote, remote == 1 ? "queue" : "queues"),
                  Paint::kWarn, style);
    }
  }
  if (load.empty()) return {};
  return load.text(style) + "\ncycles per packet by stage\n" + stages.text(style) + spreads +
         warnings;
}

std::string render_drops(const json& answer, Style style) {
  const auto by_rate = [](const json& row) {
    return std::pair(number(row, "pps"), number(row, "packets"));
  };
  std::string out;
  Table drops({{"reason"},
               {"packets", Align::kRight},
               {"rate", Align::kRight},
               {"where"},
               {"", Align::kLeft, true}});
  for (const json& drop : sorted_by(list(answer, "drops"), by_rate)) {
    std::string where = text(drop, "stage");
    if (text(drop, "kind") == "punt_limited") where += " (punted, over the bucket)";
    drops.row({Cell(text(drop, "reason"), number(drop, "pps") > 0 ? Paint::kWarn : Paint::kPlain),
               count(whole(drop, "packets")), packet_rate(number(drop, "pps")), where,
               has(drop, "example") ? "e.g. " + text(drop, "example") : text(drop, "description")});
  }
  if (!drops.empty()) out += drops.text(style) + "\n";
  Table punts({{"punted to Linux"},
               {"packets", Align::kRight},
               {"rate", Align::kRight},
               {"limit", Align::kRight},
               {"", Align::kLeft, true}});
  for (const json& punt : sorted_by(list(answer, "punts"), by_rate)) {
    punts.row({text(punt, "reason"), count(whole(punt, "packets")),
               packet_rate(number(punt, "pps")), packet_rate(number(punt, "limit_pps")),
               text(punt, "description")});
  }
  if (!punts.empty()) out += punts.text(style) + "\n";
  return out + balance(at(answer, "totals"), style);
}

std::string render_pools(const json& answer, Style style) {
  const auto fill = [](const json& pool) {
    return number(pool, "in_use") / std::max(1.0, number(pool, "size"));
  };
  Table table({{"pool", Align::kLeft, true},
               {"socket", Align::kRight},
               {"mbufs", Align::kRight},
               {"in use", Align::kRight},
               {"", Align::kRight},
               {"available", Align::kRight},
               {"data room", Align::kRight},
               {"exhausted", Align::kRight},
               {"ports", Align::kLeft, true}});
  for (const json& pool : sorted_by(list(answer, "pools"), fill)) {
    const uint64_t exhausted = whole(pool, "exhausted");
    table.row({text(pool, "name"), text(pool, "socket"), count(whole(pool, "size")),
               count(whole(pool, "in_use")), percent(100 * fill(pool)),
               count(whole(pool, "available")), count(whole(pool, "data_room_bytes")) + " B",
               Cell(count(exhausted), exhausted > 0 ? Paint::kBad : Paint::kPlain),
               joined(list(pool, "ports"), " ")});
  }
  return table.text(style);
}

}  // namespace hecto::cli
