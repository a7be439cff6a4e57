#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/bed/bed_options.hpp"
#include "bench/scale/scale.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, ScaleOptions& options) {
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
  command.add_option("--cache", options.cache, "which one packets come from")
      ->check(CLI::IsMember({"l1", "l2", "l3"}))
      ->capture_default_str();
  command
      .add_option(
          "--skew", options.skew_percent,
          "so much of the traffic in one queue, which goes over all workers by flow; per cent")
      ->check(CLI::Range(50.0, 100.0));
  add_bed_options(command, options);
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
