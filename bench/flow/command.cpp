#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/flow/flow.hpp"

namespace hecto::bench {

void add_flow(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "flow", "the flow table beside rte_hash and rte_acl; what an entry costs a packet");
  const auto options = std::make_shared<FlowBenchOptions>();
  command
      ->add_option("--mode", options->mode, "tables: alone; packets: the whole worker, in memory")
      ->check(CLI::IsMember({"tables", "packets"}))
      ->capture_default_str();
  command
      ->add_option("--entries", options->entries,
                   "exact ones, several by commas; packets: the first, a power of two")
      ->delimiter(',')
      ->check(CLI::Range(1u, 1u << 24));
  command->add_option("--masks", options->masks, "of wildcard entries, several by commas")
      ->delimiter(',')
      ->check(CLI::Range(1u, 16u));
  command->add_option("--wildcards", options->wildcards, "entries, over all masks")
      ->check(CLI::Range(16u, 100'000u))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_option("--round-ms", options->round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_option("--memory-mb", options->memory_mb, "of DPDK's heap")
      ->check(CLI::Range(256u, 1u << 20))
      ->capture_default_str();
  command->add_option("--cpu", options->cpu, "that measures")->check(CLI::Range(0u, 1023u));
  command->callback([&work, options] {
    work = [options] {
      return options->mode == "tables" ? measure_flow_tables(*options)
                                       : measure_flow_packets(*options);
    };
  });
}

}  // namespace hecto::bench
