// `hecto-bench nat`: what translation costs.
#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/nat/nat.hpp"

namespace hecto::bench {

void add_nat(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "nat", "cycles of a packet in NAT's stages: 1:1, and sessions of a pool, new and known");
  const auto options = std::make_shared<NatBenchOptions>();
  command->add_option("--sessions", options->sessions)
      ->check(CLI::Range(1024u, 8'000'000u))
      ->capture_default_str();
  command->add_option("--packets", options->packets, "of each figure, in thousands")
      ->check(CLI::Range(64u, 1'000'000u))
      ->capture_default_str();
  command->add_option("--burst", options->burst)
      ->check(CLI::Range(4u, 256u))
      ->capture_default_str();
  command->callback([&work, options] { work = [options] { return run_nat(*options); }; });
}

}  // namespace hecto::bench
