// hecto-bench: the measuring tools, one sub-command each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/forward/forward.hpp"
#include "bench/lookup/lookup.hpp"
#include "router/control/synthetic_table.hpp"

namespace {

using namespace hecto::bench;

// One prefix a line, as hecto load-routes takes it.
int print_table(double scale) {
  for (const auto& prefix : hecto::router::synthetic_prefixes(1, scale))
    fmt::print("{}\n", prefix.to_string());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

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

void describe(CLI::App& command, LookupOptions& options) {
  const auto number = [&command](const char* name, unsigned& value, unsigned least, unsigned most,
                                 const char* what) {
    command.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  // Before the others, which may then say otherwise.
  command.add_flag_callback(
      "--quick", [&options] { options.make_quick(); },
      "few rounds, small buffers: a look at everything");
  command.add_option("--table", options.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", options.root, "where ../shared/data is looked for");
  command.add_option("--family", options.families, "4, 6 or 4,6")
      ->delimiter(',')
      ->check(CLI::IsMember({4u, 6u}));
  command.add_option("--engines", options.engines, "only these, as in rte_fib,hecto")
      ->delimiter(',');
  command.add_option("--without", options.without, "not these; rte_lpm loads for a minute")
      ->delimiter(',');
  number("--next-hops", options.next_hops, 1, 16000, "groups that the prefixes have");
  number("--rounds", options.rounds, 1, 10000, "passes of each engine");
  number("--batch", options.batch, 1, 4096, "destinations of one call");
  number("--destinations", options.destinations, 1, 1 << 26, "looked up again and again");
  number("--stream", options.stream, 1, 1 << 26, "of a pass over the table's breadth");
  number("--loads", options.loads, 1, 100, "bulk loads of each engine");
  number("--updates", options.updates, 1, 10000000, "routes changed in random order");
  number("--readers", options.readers, 0, 16, "threads beside the changes");
  number("--memory-mb", options.memory_mb, 256, 1 << 20, "of DPDK's heap");
  number("--cpu", options.cpu, 0, 1023, "that measures");
  command.add_option("--json", options.json, "also write the figures here");
  command.add_option("--plot", options.plot, "also draw them here, SVG");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"hecto-bench measures hecto and what it stands on."};
  app.require_subcommand(1);
  ForwardOptions forward_options;
  describe(*app.add_subcommand(
               "forward", "cycles per packet over the I/O floor, full table, one core, in memory"),
           forward_options);
  LookupOptions lookup_options;
  CLI::App* lookup_command =
      app.add_subcommand("lookup", "look-up tables, ours and DPDK's: speed, memory, load, changes");
  describe(*lookup_command, lookup_options);
  double scale = 1.0;
  CLI::App* table_command =
      app.add_subcommand("table", "prints a synthetic full table, one prefix a line");
  table_command->add_option("--scale", scale, "times its size")
      ->check(CLI::Range(0.0001, 4.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (table_command->parsed()) return print_table(scale);
  if (lookup_command->parsed()) return measure_lookups(lookup_options);
  return forward(forward_options);
}
