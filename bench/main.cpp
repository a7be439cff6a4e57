// hecto-bench: the measuring tools, one sub-command each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/forward/forward.hpp"
#include "router/control/synthetic_table.hpp"

namespace {

// One prefix a line, as hecto load-routes takes it.
int print_table(double scale) {
  for (const auto& prefix : hecto::router::synthetic_prefixes(1, scale))
    fmt::print("{}\n", prefix.to_string());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hecto::bench;
  CLI::App app{"hecto-bench measures hecto and what it stands on."};
  app.require_subcommand(1);
  ForwardOptions forward_options;
  CLI::App* forward_command = app.add_subcommand(
      "forward", "cycles per packet over the I/O floor, full table, one core, in memory");
  forward_command->add_option("--table", forward_options.table,
                              "route file; default: the real table, or a synthetic one");
  forward_command->add_option("--root", forward_options.root, "where ../shared/data is looked for");
  forward_command->add_option("--next-hops", forward_options.next_hops)
      ->check(CLI::Range(1u, 500u))
      ->capture_default_str();
  forward_command->add_option("--rounds", forward_options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  forward_command->add_option("--round-ms", forward_options.round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  forward_command->add_option("--burst", forward_options.burst)
      ->check(CLI::Range(4u, 256u))
      ->capture_default_str();
  forward_command->add_option("--json", forward_options.json, "also write the figures here");
  double scale = 1.0;
  CLI::App* table_command =
      app.add_subcommand("table", "prints a synthetic full table, one prefix a line");
  table_command->add_option("--scale", scale, "times its size")
      ->check(CLI::Range(0.0001, 4.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (table_command->parsed()) return print_table(scale);
  return forward(forward_options);
}
