#include "bench/compare-plan/compare_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/compare-plan/rounds.hpp"
#include "bench/lib/json_file.hpp"
#include "bench/lib/machine.hpp"
#include "bench/lib/self.hpp"
#include "bench/lib/statistics.hpp"

namespace hecto::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanRow, size, series, predicted_cycles, measured_cycles,
                                   predicted_mpps, measured_mpps, calibrated, error, error_spread,
                                   spread, terms)

namespace {

using nlohmann::json;

constexpr double kLimit_s = 300;

// In a process of its own where there are several: DPDK starts once in each.
Result<std::vector<PlanRow>> rows_of(const ComparePlanOptions& options, const std::string& size) {
  if (options.sizes.size() == 1) return compare_size(options, size);
  std::vector<std::string> words = {"compare-plan", "--alone", "--sizes",
                                    size,           "--root",  options.root};
  if (!options.calibration.empty())
    words.insert(words.end(), {"--calibration", options.calibration});
  if (!options.table.empty()) words.insert(words.end(), {"--table", options.table});
  if (options.quick) words.emplace_back("--quick");
  auto done = run_self(std::move(words), kLimit_s);
  if (!done) return tl::unexpected(done.error());
  return (*done)["rows"].get<std::vector<PlanRow>>();
}

void print(const std::vector<PlanRow>& rows) {
  fmt::print("one worker, memory ports that copy, {}\n\n", machine_name());
  fmt::print("{:>6} {:<7} {:>15} {:>14} {:>11} {:>11} {:>8} {:>8} {:>8}\n", "size", "",
             "predicted Mpps", "measured Mpps", "predicted", "measured", "error", "its",
             "measured");
  fmt::print("{:>76} {:>8} {:>8}\n", "", "spread", "spread");
  for (const PlanRow& row : rows)
    fmt::print(
        "{:>6} {:<7} {:>15.2f} {:>14.2f} {:>4.0f} cycles {:>4.0f} cycles {:>+7.1f}% {:>7.1f}% "
        "{:>7.1f}%\n",
        row.size, row.series + (row.calibrated ? "*" : ""), row.predicted_mpps, row.measured_mpps,
        row.predicted_cycles, row.measured_cycles, row.error * 100, row.error_spread * 100,
        row.spread * 100);
}

// What stands out, in words.
void print_verdict(const std::vector<PlanRow>& rows, const PlanVerdict& verdict) {
  if (verdict.predictions == 0)
    fmt::print("\nno prediction: all that was measured was calibrated with; add other --sizes\n");
  else
    fmt::print("\nerror: median {:.1f}%, largest {:.1f}%; {} of {} predictions over {:.0f}%\n",
               verdict.median_error * 100, verdict.largest_error * 100, verdict.outside,
               verdict.predictions, PlanVerdict::kBound * 100);
  if (std::any_of(rows.begin(), rows.end(), [](const PlanRow& row) { return row.calibrated; }))
    fmt::print("* calibrated with the same packets: no prediction, and not counted\n");
  if (std::any_of(rows.begin(), rows.end(), [](const PlanRow& row) { return row.spread > 0.1; }))
    fmt::print(
        "a noisy machine (spread over 10%): stop other work, or put chrt -f 50 before the "
        "command\n");
}

}  // namespace

PlanVerdict verdict_of(const std::vector<PlanRow>& rows) {
  PlanVerdict verdict;
  std::vector<double> errors;
  for (const PlanRow& row : rows) {
    if (row.calibrated) continue;
    errors.push_back(std::abs(row.error));
    verdict.outside += errors.back() > PlanVerdict::kBound ? 1 : 0;
  }
  verdict.predictions = errors.size();
  if (errors.empty()) return verdict;
  verdict.median_error = median(errors);
  verdict.largest_error = *std::max_element(errors.begin(), errors.end());
  return verdict;
}

int compare_plan(const ComparePlanOptions& options) {
  std::vector<PlanRow> rows;
  bool partial = false;
  for (const std::string& size : options.sizes) {
    auto more = rows_of(options, size);
    if (!more) {
      complain(more.error());
      partial = true;
      break;
    }
    // Constants of a file are of another time, so that all that they say is a prediction.
    if (!options.calibration.empty())
      for (PlanRow& row : *more) row.calibrated = false;
    rows.insert(rows.end(), more->begin(), more->end());
  }
  if (rows.empty()) return 1;
  const PlanVerdict verdict = verdict_of(rows);
  if (options.json != "-") {
    print(rows);
    print_verdict(rows, verdict);
    if (partial) fmt::print("partial: the sizes after {} were not measured\n", rows.back().size);
  }
  const json out = {{"machine", machine_name()},
                    {"partial", partial},
                    {"predictions", verdict.predictions},
                    {"outside", verdict.outside},
                    {"rows", rows}};
  if (auto done = write_json(options.json, out); !done) return complain(done.error());
  if (options.alone) return 0;
  if (verdict.predictions == 0)
    complain({"compare-plan: no prediction among these sizes; add others"});
  else if (!verdict.within())
    complain({fmt::format("compare-plan: {} of {} predictions are off by more than {:.0f}%",
                          verdict.outside, verdict.predictions, PlanVerdict::kBound * 100)});
  return partial || !verdict.within() ? 1 : 0;
}

}  // namespace hecto::bench
