#include "bench/forward/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "lookup/kernels.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;
using router::Eal;

std::vector<ForwardRow> rows_of(const ForwardReport& report, const ForwardPoint& point) {
  return rows_of(point, mean_bytes(report.options.bed.frames[0].sizes),
                 static_cast<double>(rte_get_tsc_hz()));
}

void print_head(const ForwardReport& report) {
  const ForwardOptions& options = report.options;
  fmt::print(
      "forwarding, one core, {}{}, {} routes ({}), {} next hops, {} rules, {} filter rules{}, "
      "look-up by {}, interface "
      "counters {}\n",
      options.size == "imix" ? "imix" : options.size + "-byte packets",
      options.bed.frames[0].copied ? " copied in and out" : "", report.bed.routes(),
      report.bed.table_name(), options.bed.next_hops, options.bed.rules, options.bed.filters,
      options.bed.policed                ? " and a policer"
      : options.bed.policed_prefixes > 0 ? " and a bucket a destination"
                                         : "",
      to_string(options.bed.by), options.bed.counters ? "on" : "off");
  if (options.bed.into_tunnels > 0) fmt::print("into {} GRE tunnels\n", options.bed.into_tunnels);
  if (options.bed.frames[0].in_gre) fmt::print("out of a GRE tunnel\n");
  if (options.bed.egress_mtu != 0)
    fmt::print("egress MTU {}: {} fragments made; packets and bytes below are those that came in\n",
               options.bed.egress_mtu, report.bed.router().dataplane().fragments_made());
  fmt::print(
      "{}, TSC {:.1f} GHz, {}, look-up {}; routes programmed in {:.2f} s; {} packets "
      "verified\n\n",
      machine_name(), static_cast<double>(rte_get_tsc_hz()) / 1e9,
      rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages",
      lookup::to_string(lookup::kernels().isa), report.bed.load_seconds(), report.verified);
}

void print_rows(const ForwardReport& report) {
  fmt::print("{:<6}{:>6} {:<6}{:>9}{:>9}{:>15}{:>16}{:>12}{:>9}\n", "from", "burst", "", "Mpps",
             "Gb/s", "cycles/packet", "over the floor", "its spread", "spread");
  for (const ForwardPoint& point : report.points)
    for (const ForwardRow& row : rows_of(report, point))
      fmt::print("{:<6}{:>6} {:<6}{:>9.1f}{:>9.1f}{:>15.1f}{:>16}{:>12}{:>8.0f}%\n",
                 to_string(point.cache), point.burst, row.name, row.mpps, row.gbps, row.cycles,
                 row.over_floor ? fmt::format("{:.1f}", *row.over_floor) : "",
                 row.over_floor_spread ? fmt::format("{:.1f}", *row.over_floor_spread) : "",
                 row.spread * 100);
}

void print_stages(const ForwardReport& report) {
  const ForwardPoint& point = main_point(report.points);
  bool headed = false;
  for (const ForwardRow& row : rows_of(report, point)) {
    if (row.stages.empty()) continue;
    if (!headed)
      fmt::print(
          "\nstages from {}, burst {} (sampled, with the clock's own cost): receive, classify, "
          "look-up, rewrite, transmit\n",
          to_string(point.cache), point.burst);
    headed = true;
    fmt::print("{:<8} {:>10.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", row.name, row.stages[0],
               row.stages[1], row.stages[2], row.stages[3], row.stages[4]);
  }
}

// What a reader of the figures should know of the machine.
void print_notes(const ForwardReport& report) {
  double taken = 0, spread = 0;
  for (const ForwardPoint& point : report.points)
    for (const ForwardRow& row : rows_of(report, point)) {
      taken = std::max(taken, row.taken);
      spread = std::max(spread, row.spread);
    }
  for (const std::string& name : report.options.caches)
    if (const auto note = ring_note(cache_by_name(name), cache_sizes()); !note.empty())
      fmt::print("\n{}\n", note);
  if (taken > 0.02)
    fmt::print("\nother work took {:.0f}% of the core: not counted, but it cools the caches\n",
               taken * 100);
  if (spread > 0.1)
    fmt::print(
        "\na noisy machine: the middle half of the rounds spreads over {:.0f}%; stop other work, "
        "or put chrt -f 50 before the command\n",
        spread * 100);
}

json to_json(const ForwardRow& row) {
  json series = {{"mpps", row.mpps},     {"gbps", row.gbps},   {"cycles_per_packet", row.cycles},
                 {"spread", row.spread}, {"taken", row.taken}, {"stages", row.stages}};
  if (row.over_floor) series["cycles_over_floor"] = *row.over_floor;
  if (row.over_floor_spread) series["cycles_over_floor_spread"] = *row.over_floor_spread;
  return series;
}

}  // namespace

std::vector<ForwardRow> rows_of(const ForwardPoint& point, double frame_bytes, double tsc_hz) {
  std::vector<ForwardRow> rows;
  const auto floor =
      std::find_if(point.series.begin(), point.series.end(),
                   [](const ForwardSeries& series) { return series.work == BedWork::kFloor; });
  for (const ForwardSeries& series : point.series) {
    ForwardRow row{};
    row.name = to_string(series.work);
    row.cycles = median(series.cycles);
    row.mpps = tsc_hz / row.cycles / 1e6;
    row.gbps = row.mpps * frame_bytes * 8 / 1e3;
    row.spread = quartile_spread(series.cycles);
    row.taken = median(series.taken);
    if (through_worker(series.work) && floor != point.series.end()) {
      std::vector<double> over;
      for (size_t round = 0; round < series.cycles.size(); ++round)
        over.push_back(series.cycles[round] - floor->cycles[round]);
      row.over_floor = median(over);
      row.over_floor_spread = quantile(over, 0.75) - quantile(over, 0.25);
    }
    for (const auto& stage : series.stages)
      if (!stage.empty()) row.stages.push_back(median(stage));
    rows.push_back(std::move(row));
  }
  return rows;
}

const ForwardPoint& main_point(const std::vector<ForwardPoint>& points) {
  return *std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
    const bool a_l2 = a.cache == PacketCache::kL2, b_l2 = b.cache == PacketCache::kL2;
    return a_l2 != b_l2 ? b_l2 : a.burst < b.burst;
  });
}

void print(const ForwardReport& report) {
  print_head(report);
  print_rows(report);
  print_stages(report);
  print_notes(report);
}

json to_json(const ForwardReport& report) {
  const ForwardOptions& options = report.options;
  const ForwardPoint& main = main_point(report.points);
  json out = {{"machine", machine_name()},
              {"table", report.bed.table_name()},
              {"isa", lookup::to_string(lookup::kernels().isa)},
              {"tsc_hz", rte_get_tsc_hz()},
              {"hugepages", rte_eal_has_hugepages() != 0},
              {"routes", report.bed.routes()},
              {"next_hops", options.bed.next_hops},
              {"rules", options.bed.rules},
              {"filters", options.bed.filters},
              {"policed", options.bed.policed},
              {"into_tunnels", options.bed.into_tunnels},
              {"out_of_tunnel", options.bed.frames[0].in_gre},
              {"policed_prefixes", options.bed.policed_prefixes},
              {"look_up", to_string(options.bed.by)},
              {"cache", to_string(main.cache)},
              {"burst", main.burst},
              {"counters", options.bed.counters},
              {"size", options.size},
              {"frame_bytes", mean_bytes(options.bed.frames[0].sizes)},
              {"copied", options.bed.frames[0].copied},
              {"load_s", report.bed.load_seconds()},
              {"verified", report.verified},
              {"dpdk", Eal::version()},
              {"points", json::array()}};
  for (const ForwardRow& row : rows_of(report, main)) out[row.name] = to_json(row);
  for (const ForwardPoint& point : report.points) {
    json rows = {{"cache", to_string(point.cache)},
                 {"ring_packets", ring_packets(point.cache, cache_sizes())},
                 {"burst", point.burst}};
    for (const ForwardRow& row : rows_of(report, point)) rows[row.name] = to_json(row);
    out["points"].push_back(std::move(rows));
  }
  return out;
}

}  // namespace hecto::bench
