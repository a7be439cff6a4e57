#include "bench/compare_plan/compare_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/forward/bed.hpp"
#include "bench/json_file.hpp"
#include "bench/machine.hpp"
#include "bench/self.hpp"
#include "bench/statistics.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;
using router::Result;

constexpr double kBound = 0.15;  // of the error, with memory ports
constexpr const char* kSeries[] = {"floor", "ipv4", "ipv6"};

Result<config::Constants> constants_of(const ComparePlanOptions& options) {
  if (!options.calibration.empty()) {
    auto read = config::read_calibration(options.calibration);
    if (!read) return router::fail(read.error().front());
    return read->constants;
  }
  auto topology = config::read_topology();
  if (!topology) return router::fail("topology: " + topology.error());
  CalibrateOptions calibrate;
  calibrate.root = options.root;
  calibrate.table = options.table;
  calibrate.quick = options.quick;
  Found found;
  found.source = "measured";
  for (auto done : {measure_clock(calibrate, found), measure_copies(calibrate, found),
                    measure_stages(calibrate, *topology, found)})
    if (!done) return tl::unexpected(done.error());
  return found.constants;
}

// Without a calibration file the machine is calibrated anew for each size, right before it is
// measured: what shared machines lend of a core changes within minutes.
Result<void> measure(const ComparePlanOptions& options, const std::string& size,
                     std::vector<PlanRow>& rows) {
  auto sizes = frame_sizes(size);
  if (!sizes) return tl::unexpected(sizes.error());
  auto constants = constants_of(options);
  if (!constants) return tl::unexpected(constants.error());
  auto forward = run_self(
      {"forward", "--copied", "--size", size, "--table", options.table, "--root", options.root,
       "--rounds", options.quick ? "5" : "31", "--round-ms", options.quick ? "20" : "50"},
      300);
  if (!forward) return tl::unexpected(forward.error());
  for (const char* series : kSeries) {
    const json& measured = (*forward)[series];
    auto predicted = predict(*constants, series, *sizes);
    PlanRow row{size, series};
    row.predicted_cycles = predicted.sum;
    row.measured_cycles = measured["cycles_per_packet"];
    row.predicted_mpps = config::worker_mpps(*constants, predicted.sum);
    row.measured_mpps = measured["mpps"];
    row.spread = measured["spread"];
    row.terms = std::move(predicted.terms);
    rows.push_back(std::move(row));
  }
  return {};
}

void print(const std::vector<PlanRow>& rows) {
  fmt::print("one worker, memory ports that copy, {}\n\n", machine_name());
  fmt::print("{:>6} {:<7} {:>15} {:>14} {:>11} {:>11} {:>8} {:>8}\n", "size", "", "predicted Mpps",
             "measured Mpps", "predicted", "measured", "error", "spread");
  for (const PlanRow& row : rows)
    fmt::print(
        "{:>6} {:<7} {:>15.2f} {:>14.2f} {:>4.0f} cycles {:>4.0f} cycles {:>+7.1f}% {:>7.1f}%\n",
        row.size, row.series, row.predicted_mpps, row.measured_mpps, row.predicted_cycles,
        row.measured_cycles, row.error() * 100, row.spread * 100);
}

// What stands out, in words.
void print_verdict(const std::vector<PlanRow>& rows) {
  std::vector<double> errors;
  size_t outside = 0;
  bool noisy = false;
  for (const PlanRow& row : rows) {
    errors.push_back(std::abs(row.error()));
    outside += std::abs(row.error()) > kBound ? 1 : 0;
    noisy = noisy || row.spread > 0.1;
  }
  fmt::print("\nerror: median {:.1f}%, largest {:.1f}%; {} of {} over {:.0f}%\n",
             median(errors) * 100, *std::max_element(errors.begin(), errors.end()) * 100, outside,
             rows.size(), kBound * 100);
  if (noisy)
    fmt::print(
        "a noisy machine (spread over 10%): stop other work, or put chrt -f 50 before the "
        "command\n");
}

json to_json(const std::vector<PlanRow>& rows, bool partial) {
  json list = json::array();
  for (const PlanRow& row : rows) {
    json terms = json::object();
    for (const config::Term& term : row.terms) {
      const std::string name(config::info(term.constant).name);
      terms[name] = terms.value(name, 0.0) + term.cycles;
    }
    list.push_back({{"size", row.size},
                    {"series", row.series},
                    {"predicted_mpps", row.predicted_mpps},
                    {"measured_mpps", row.measured_mpps},
                    {"predicted_cycles", row.predicted_cycles},
                    {"measured_cycles", row.measured_cycles},
                    {"error", row.error()},
                    {"spread", row.spread},
                    {"terms", terms}});
  }
  return {{"machine", machine_name()}, {"partial", partial}, {"rows", list}};
}

}  // namespace

config::PacketCycles predict(const config::Constants& constants, const std::string& series,
                             const std::vector<uint16_t>& sizes) {
  // Headers are written by receiving itself, the rest is copied in, all of it out again.
  config::PacketWork work;
  work.ports = config::PortKind::kMemory;
  work.frame_bytes = mean_bytes(sizes);
  work.traffic = series == "ipv6" ? config::Traffic::kIpv6 : config::Traffic::kIpv4;
  const double in = work.frame_bytes - kLeastFrame_bytes, out = work.frame_bytes;
  if (series != "floor") {
    work.copies = 2;
    work.copied_bytes = in + out;
    return config::cycles_per_packet(constants, work);
  }
  work.work = config::Work::kReceive;
  work.copies = 1;
  work.copied_bytes = in;
  auto both = config::cycles_per_packet(constants, work);
  work.work = config::Work::kTransmit;
  work.copied_bytes = out;
  auto transmit = config::cycles_per_packet(constants, work);
  both.sum += transmit.sum;
  both.terms.insert(both.terms.end(), transmit.terms.begin(), transmit.terms.end());
  return both;
}

int compare_plan(const ComparePlanOptions& options) {
  std::vector<PlanRow> rows;
  bool partial = false;
  for (const std::string& size : options.sizes) {
    if (auto done = measure(options, size, rows); !done) {
      complain(done.error());
      partial = true;
      break;
    }
  }
  if (rows.empty()) return 1;
  if (options.json != "-") {
    print(rows);
    print_verdict(rows);
    if (partial) fmt::print("partial: the sizes after {} were not measured\n", rows.back().size);
  }
  if (auto done = write_json(options.json, to_json(rows, partial)); !done)
    return complain(done.error());
  return partial ? 1 : 0;
}

}  // namespace hecto::bench
