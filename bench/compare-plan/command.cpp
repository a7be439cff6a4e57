#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/compare-plan/compare_plan.hpp"

namespace hecto::bench {

void add_compare_plan(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "compare-plan", "the capacity model's prediction against the measurement, with the error");
  const auto options = std::make_shared<ComparePlanOptions>();
  command->add_option("--calibration", options->calibration,
                      "of hecto-bench calibrate; default: calibrates in each round");
  command->add_option("--sizes", options->sizes, "bytes in memory, or imix")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--table", options->table,
                      "route file; default: the real table, or a synthetic one");
  command->add_option("--root", options->root, "where ../shared/data is looked for");
  command->add_flag("--quick", options->quick, "short rounds, for a look");
  command->add_flag("--alone", options->alone, "without a verdict, for a part of a run")->group("");
  command->add_option("--json", options->json,
                      "also write the figures here; -: instead, to stdout");
  command->callback([&work, options] { work = [options] { return compare_plan(*options); }; });
}

}  // namespace hecto::bench
