#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/bed/calibration_round.hpp"
#include "bench/calibrate/parts.hpp"
#include "bench/lib/self.hpp"
#include "bench/lib/statistics.hpp"
#include "lookup/kernels.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

// Of the point with one worker.
Result<double> scale_cycles(const CalibrateOptions& options, const char* placement) {
  auto scale =
      run_self({"scale", "--workers", "1", "--placement", placement, "--table", options.table,
                "--root", options.root, "--rounds", options.quick ? "3" : "9", "--cache", "l1"},
               120);
  if (!scale) return tl::unexpected(scale.error());
  return (*scale)["points"][0]["cycles_per_packet"].get<double>();
}

Result<void> measure_remote_access(const CalibrateOptions& options, MeasuredConstants& found) {
  auto right = scale_cycles(options, "right");
  auto wrong = scale_cycles(options, "wrong");
  if (!right) return tl::unexpected(right.error());
  if (!wrong) return tl::unexpected(wrong.error());
  found.set(config::Constant::kRemoteAccessCycles, *wrong - *right);
  return {};
}

void note_conditions(Bed& bed, double spread, MeasuredConstants& found) {
  found.notes.push_back(
      fmt::format("stages: table {}, {} routes, look-up {}, {}; IPv4 spread {:.0f}%",
                  bed.table_name(), bed.routes(), lookup::to_string(lookup::kernels().isa),
                  rte_eal_has_hugepages() != 0 ? "hugepages" : "no hugepages", spread * 100));
  if (spread > 0.1)
    found.notes.emplace_back(
        "stages: a noisy machine (spread over 10%): stop other work, or chrt -f 50 before the "
        "command");
}

}  // namespace

Result<void> measure_stages(const CalibrateOptions& options, const config::Topology& topology,
                            MeasuredConstants& found) {
  if (topology.sockets.size() < 2)
    found.notes.emplace_back("stages: one node, so remote_access_cycles stays");
  else if (auto done = measure_remote_access(options, found); !done)
    return done;

  BedOptions bed_options;
  bed_options.table = options.table;
  bed_options.root = options.root;
  bed_options.frames = calibration_frames();
  auto bed = Bed::create(bed_options);
  if (!bed) return tl::unexpected(bed.error());
  Slices slices(**bed, bed_options.burst);
  CalibrationRounds rounds(**bed, slices, bed_options.burst, options.quick);
  std::map<config::Constant, std::vector<double>> values;
  std::vector<double> ipv4;
  for (unsigned round = 0, wanted = options.quick ? 5 : 61; round < wanted; ++round) {
    const auto cycles = rounds.run();
    if (!cycles) continue;  // nothing was sampled
    MeasuredConstants one;
    take_round(*cycles, one);
    ipv4.push_back(cycles->ipv4.cycles);
    for (const config::ConstantInfo& row : config::constants_table())
      if (one.constants.is_set(row.id)) values[row.id].push_back(one.constants[row.id]);
  }
  if (ipv4.empty()) return fail("no chunk was sampled: is something else on this core?");
  if (!(*bed)->all_forwarded()) return fail("packets were dropped");
  for (const auto& [constant, list] : values) found.set(constant, median(list));
  note_conditions(**bed, quartile_spread(ipv4), found);
  return {};
}

}  // namespace hecto::bench
