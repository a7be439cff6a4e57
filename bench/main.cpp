// hecto-bench: the measuring tools, a folder and a sub-command each.
#include <CLI/CLI.hpp>

#include "bench/lib/command.hpp"

// The sub-commands in the order of --help: a line each, `add_` before it is the function of its
// folder's command.cpp.
#define HECTO_BENCH_COMMANDS(COMMAND) \
  COMMAND(calibrate)                  \
  COMMAND(compare)                    \
  COMMAND(compare_plan)               \
  COMMAND(flow)                       \
  COMMAND(forward)                    \
  COMMAND(generate)                   \
  COMMAND(ipsec)                      \
  COMMAND(lookup)                     \
  COMMAND(nat)                        \
  COMMAND(offload)                    \
  COMMAND(restart)                    \
  COMMAND(run)                        \
  COMMAND(scale)                      \
  COMMAND(table)                      \
  COMMAND(throughput)

namespace hecto::bench {

#define HECTO_DECLARE(name) void add_##name(CLI::App& app, Work& work);
HECTO_BENCH_COMMANDS(HECTO_DECLARE)

}  // namespace hecto::bench

int main(int argc, char** argv) {
  using namespace hecto::bench;
  CLI::App app{"hecto-bench measures hecto and what it stands on."};
  app.require_subcommand(1);
  Work work;
#define HECTO_ADD(name) add_##name(app, work);
  HECTO_BENCH_COMMANDS(HECTO_ADD)
  CLI11_PARSE(app, argc, argv);
  return work();
}
