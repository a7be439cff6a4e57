#include <CLI/CLI.hpp>
#include <memory>

#include "bench/command.hpp"
#include "bench/forward/forward.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, ForwardOptions& options) {
  command.add_option("--table", options.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", options.root, "where ../shared/data is looked for");
  command.add_option("--next-hops", options.next_hops)
      ->check(CLI::Range(1u, 500u))
      ->capture_default_str();
  command.add_option("--rounds", options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--round-ms", options.round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command.add_option("--burst", options.burst)->check(CLI::Range(4u, 256u))->capture_default_str();
  command.add_option("--json", options.json, "also write the figures here");
}

}  // namespace

void add_forward(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "forward", "cycles per packet over the I/O floor, full table, one core, in memory");
  const auto options = std::make_shared<ForwardOptions>();
  describe(*command, *options);
  command->callback([&work, options] { work = [options] { return forward(*options); }; });
}

}  // namespace hecto::bench
