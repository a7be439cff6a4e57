#include "bench/forward/forward.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "bench/bed/slices.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/statistics.hpp"
#include "lookup/kernels.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::bench {
namespace {

using namespace router;
using nlohmann::json;

// One thing that is measured, over its rounds.
struct Series {
  BedWork work;
  std::vector<double> cycles;  // TSC a packet
  std::vector<double> taken;   // share of the core that others had
  std::array<std::vector<double>, kBedStages> stages;
};

std::vector<Series> make_series(const std::string& mode) {
  using enum BedWork;
  std::vector<Series> out;
  const bool all = mode == "all";
  const auto add = [&out](BedWork work) { out.push_back({work, {}, {}, {}}); };
  if (all || mode == "rx") add(kReceive);
  if (all || mode == "tx") add(kTransmit);
  if (all || mode == "forward")
    for (const BedWork work : {kFloor, kIpv4, kIpv6}) add(work);
  return out;
}

void measure(Series& series, Slices& slices, unsigned round_ms) {
  const Slice slice = slices.measure(series.work, round_ms);
  series.cycles.push_back(slice.cycles);
  series.taken.push_back(slice.taken);
  if (slice.stages)
    for (size_t i = 0; i < kBedStages; ++i) series.stages[i].push_back((*slice.stages)[i]);
}

struct Row {
  std::string name;
  double cycles, mpps, gbps, spread, taken;
  std::optional<double> over_floor;
  std::vector<double> stages;
};

std::vector<Row> rows_of(const std::vector<Series>& all, double frame_bytes) {
  std::vector<Row> rows;
  std::optional<double> floor;
  for (const Series& series : all) {
    Row row;
    row.name = to_string(series.work);
    row.cycles = median(series.cycles);
    row.mpps = static_cast<double>(rte_get_tsc_hz()) / row.cycles / 1e6;
    row.gbps = row.mpps * frame_bytes * 8 / 1e3;
    row.spread = quartile_spread(series.cycles);
    row.taken = median(series.taken);
    if (series.work == BedWork::kFloor) floor = row.cycles;
    if (through_worker(series.work) && floor) row.over_floor = row.cycles - *floor;
    for (const auto& stage : series.stages)
      if (!stage.empty()) row.stages.push_back(median(stage));
    rows.push_back(std::move(row));
  }
  return rows;
}

void print(const ForwardOptions& options, Bed& bed, const std::vector<Row>& rows) {
  fmt::print("forwarding, one core, {}{}, {} routes ({}), {} next hops, burst {}\n",
             options.size == "imix" ? "imix" : options.size + "-byte packets",
             options.bed.frames[0].copied ? " copied in and out" : "", bed.routes(),
             bed.table_name(), options.bed.next_hops, options.bed.burst);
  fmt::print("{}, TSC {:.1f} GHz, {}, look-up {}; routes programmed in {:.2f} s\n\n",
             machine_name(), static_cast<double>(rte_get_tsc_hz()) / 1e9,
             rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages",
             lookup::to_string(lookup::kernels().isa), bed.load_seconds());
  fmt::print("{:<8} {:>10} {:>10} {:>16} {:>18} {:>8}\n", "", "Mpps", "Gb/s", "cycles/packet",
             "over the floor", "spread");
  for (const Row& row : rows)
    fmt::print("{:<8} {:>10.1f} {:>10.1f} {:>16.1f} {:>18} {:>7.0f}%\n", row.name, row.mpps,
               row.gbps, row.cycles, row.over_floor ? fmt::format("{:.1f}", *row.over_floor) : "",
               row.spread * 100);
  bool headed = false;
  for (const Row& row : rows) {
    if (row.stages.empty()) continue;
    if (!headed)
      fmt::print(
          "\nstages (sampled, with the clock's own cost): receive, classify, look-up, rewrite, "
          "transmit\n");
    headed = true;
    fmt::print("{:<8} {:>10.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", row.name, row.stages[0],
               row.stages[1], row.stages[2], row.stages[3], row.stages[4]);
  }
}

// What a reader of the figures should know of the machine.
void print_noise(const std::vector<Row>& rows) {
  double taken = 0, spread = 0;
  for (const Row& row : rows) {
    taken = std::max(taken, row.taken);
    spread = std::max(spread, row.spread);
  }
  if (taken > 0.02)
    fmt::print("\nother work took {:.0f}% of the core: not counted, but it cools the caches\n",
               taken * 100);
  if (spread > 0.1)
    fmt::print(
        "\na noisy machine: the middle half of the rounds spreads over {:.0f}%; stop other work, "
        "or put chrt -f 50 before the command\n",
        spread * 100);
}

json to_json(const ForwardOptions& options, Bed& bed, const std::vector<Row>& rows) {
  json out = {{"machine", machine_name()},
              {"table", bed.table_name()},
              {"isa", lookup::to_string(lookup::kernels().isa)},
              {"tsc_hz", rte_get_tsc_hz()},
              {"hugepages", rte_eal_has_hugepages() != 0},
              {"routes", bed.routes()},
              {"next_hops", options.bed.next_hops},
              {"burst", options.bed.burst},
              {"size", options.size},
              {"frame_bytes", mean_bytes(options.bed.frames[0].sizes)},
              {"copied", options.bed.frames[0].copied},
              {"load_s", bed.load_seconds()},
              {"dpdk", Eal::version()}};
  for (const Row& row : rows) {
    json& series = out[row.name] = {
        {"mpps", row.mpps},     {"gbps", row.gbps},   {"cycles_per_packet", row.cycles},
        {"spread", row.spread}, {"taken", row.taken}, {"stages", row.stages}};
    if (row.over_floor) series["cycles_over_floor"] = *row.over_floor;
  }
  return out;
}

}  // namespace

std::vector<std::string> forward_modes() {
  return {"forward", "rx", "tx", "all"};
}

int forward(const ForwardOptions& wanted) {
  ForwardOptions options = wanted;
  auto sizes = frame_sizes(options.size);
  if (!sizes) return complain(sizes.error());
  options.bed.frames[0].sizes = *sizes;
  auto bed = Bed::create(options.bed);
  if (!bed) return complain(bed.error());
  Slices slices(**bed, options.bed.burst);
  std::vector<Series> series = make_series(options.mode);
  for (unsigned round = 0; round < options.rounds; ++round)
    for (Series& one : series) measure(one, slices, options.round_ms);
  const auto rows = rows_of(series, mean_bytes(*sizes));
  if (options.json != "-") {
    print(options, **bed, rows);
    print_noise(rows);
  }
  if (auto done = write_json(options.json, to_json(options, **bed, rows)); !done)
    return complain(done.error());
  return (*bed)->all_forwarded() ? 0 : 1;
}

}  // namespace hecto::bench
