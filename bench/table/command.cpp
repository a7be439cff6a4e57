// `hecto-bench table`: the synthetic table, one prefix a line, as hecto load-routes takes it.
#include "bench/lib/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/lib/synthetic_table.hpp"

namespace hecto::bench {
namespace {

int print_table(double scale) {
  for (const auto& prefix : router::synthetic_prefixes(1, scale))
    fmt::print("{}\n", prefix.to_string());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

void add_table(CLI::App& app, Work& work) {
  CLI::App* command =
      app.add_subcommand("table", "prints a synthetic full table, one prefix a line");
  const auto scale = std::make_shared<double>(1.0);
  command->add_option("--scale", *scale, "times its size")
      ->check(CLI::Range(0.0001, 4.0))
      ->capture_default_str();
  command->callback([&work, scale] { work = [scale] { return print_table(*scale); }; });
}

}  // namespace hecto::bench
