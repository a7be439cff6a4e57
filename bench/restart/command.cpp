// `hecto-bench restart`: what a restart of the service costs.
#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/restart/restart.hpp"

namespace hecto::bench {

void add_restart(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "restart", "milliseconds without forwarding while hectod restarts as a service");
  const auto options = std::make_shared<RestartOptions>();
  command->add_option("--hectod", options->program, "the program; default: beside this one");
  command->add_option("--restarts", options->restarts)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_option("--routes", options->routes, "that Linux has meanwhile")
      ->check(CLI::Range(0u, 4'000'000u))
      ->capture_default_str();
  command->add_option("--rate", options->pps, "packets per second that pass")
      ->check(CLI::Range(100.0, 1e6))
      ->capture_default_str();
  command->add_flag("--kill", options->kill, "by SIGKILL; else by SIGTERM");
  command->add_option("--json", options->json, "also write the figures here; -: standard output");
  command->callback([&work, options] { work = [options] { return run_restart(*options); }; });
}

}  // namespace hecto::bench
