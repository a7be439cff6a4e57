// The command-line options of whatever measures on a bed.
#pragma once

#include <CLI/CLI.hpp>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

// `options` has bed, rounds, round_ms and json.
template <typename Options>
void add_run_options(CLI::App& command, Options& options) {
  command.add_option("--table", options.bed.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", options.bed.root, "where ../shared/data is looked for");
  command
      .add_option("--routes", options.bed.routes, "so many of each family, at random; default: all")
      ->check(CLI::Range(1u, 100'000'000u));
  command.add_option("--rounds", options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--round-ms", options.round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command.add_option("--json", options.json, "also write the figures here; -: instead, to stdout");
}

// And size.
template <typename Options>
void add_bed_options(CLI::App& command, Options& options) {
  command.add_option("--size", options.size, "bytes of a packet in memory, without FCS, or imix")
      ->capture_default_str();
  add_run_options(command, options);
}

}  // namespace hecto::bench
