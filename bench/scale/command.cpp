#include "bench/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/scale/scale.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, ScaleOptions& options) {
  BedOptions& bed = options.bed;
  command
      .add_option("--workers", options.workers, "how many, as in 1,2,4; default: 1, 2, 4 to all")
      ->delimiter(',');
  command
      .add_option("--placement", options.placement,
                  "right; wrong: pools and tables lie on another socket than the workers")
      ->check(CLI::IsMember({"right", "wrong"}))
      ->capture_default_str();
  command.add_option("--family", options.family)
      ->check(CLI::IsMember({"ipv4", "ipv6"}))
      ->capture_default_str();
  command.add_option("--size", options.size, "bytes of a packet in memory, without FCS, or imix")
      ->capture_default_str();
  command.add_option("--table", bed.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", bed.root, "where ../shared/data is looked for");
  command.add_option("--routes", bed.routes, "so many of each family, at random; default: all")
      ->check(CLI::Range(1u, 100'000'000u));
  command.add_option("--rounds", options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--round-ms", options.round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command.add_option("--json", options.json, "also write the figures here; -: instead, to stdout");
}

}  // namespace

void add_scale(CLI::App& app, Work& work) {
  CLI::App* command =
      app.add_subcommand("scale", "one worker to all, one socket to all: rate and efficiency");
  const auto options = std::make_shared<ScaleOptions>();
  describe(*command, *options);
  command->callback([&work, options] { work = [options] { return scale(*options); }; });
}

}  // namespace hecto::bench
