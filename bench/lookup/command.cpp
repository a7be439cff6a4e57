#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/lookup/lookup.hpp"

namespace hecto::bench {
namespace {

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

void add_lookup(CLI::App& app, Work& work) {
  CLI::App* command =
      app.add_subcommand("lookup", "look-up tables, ours and DPDK's: speed, memory, load, changes");
  const auto options = std::make_shared<LookupOptions>();
  describe(*command, *options);
  command->callback([&work, options] { work = [options] { return measure_lookups(*options); }; });
}

}  // namespace hecto::bench
