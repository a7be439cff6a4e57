#include "bench/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/forward/forward.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, ForwardOptions& options) {
  BedOptions& bed = options.bed;
  command
      .add_option("--mode", options.mode,
                  "forward: receive and transmit alone, IPv4, IPv6; rx and tx: one of both "
                  "alone; all")
      ->check(CLI::IsMember(forward_modes()))
      ->capture_default_str();
  command.add_option("--size", options.size, "bytes of a packet in memory, without FCS, or imix")
      ->capture_default_str();
  command.add_flag("--copied", bed.frames.copied,
                   "ports copy each packet in and out, as between processes");
  command.add_option("--table", bed.table,
                     "route file; default: the real table, or a synthetic one");
  command.add_option("--root", bed.root, "where ../shared/data is looked for");
  command.add_option("--routes", bed.routes, "so many of each family, at random; default: all")
      ->check(CLI::Range(1u, 100'000'000u));
  command.add_option("--next-hops", bed.next_hops)
      ->check(CLI::Range(1u, 500u))
      ->capture_default_str();
  command.add_option("--rounds", options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--round-ms", options.round_ms)
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command.add_option("--burst", bed.burst)->check(CLI::Range(4u, 256u))->capture_default_str();
  command.add_option("--json", options.json, "also write the figures here; -: instead, to stdout");
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
