#include "bench/lib/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/compare/compare.hpp"

namespace hecto::bench {
namespace {

void describe(CLI::App& command, CompareOptions& options) {
  command.add_flag_callback(
      "--quick",
      [&options] {
        options.rounds = 2;
        options.seconds = 0.3;
        options.sizes = {"64"};
      },
      "2 rounds of 0.3 s, 64 bytes");
  command
      .add_option("--peers", options.peers,
                  "only these: hecto, testpmd-io, testpmd-mac, l3fwd, vpp, grout, linux; default: "
                  "all that are installed")
      ->delimiter(',');
  command.add_option("--ports", options.ports, "memif, or veth (needs root)")
      ->check(CLI::IsMember({"memif", "veth"}))
      ->capture_default_str();
  command.add_option("--family", options.family)
      ->check(CLI::IsMember({4, 6}))
      ->capture_default_str();
  command.add_option("--sizes", options.sizes, "frames with FCS: 64 to 1518, or imix")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--routes", options.routes, "in the table of those that have one")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  command.add_option("--rounds", options.rounds)
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--seconds", options.seconds, "of one trial")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command.add_option("--rate", options.rate, "max, or a number as 1Mpps")->capture_default_str();
  command.add_option("--burst", options.burst)->check(CLI::Range(4u, 256u))->capture_default_str();
  command.add_option("--worker-cpu", options.worker_cpu,
                     "where routers forward; default: the last");
  command.add_option("--generator-cpu", options.generator_cpu);
  command.add_option("--control-cpu", options.control_cpu);
  command.add_option("--json", options.json, "also write the figures here; -: standard output");
}

}  // namespace

void add_compare(CLI::App& app, Work& work) {
  CLI::App* command = app.add_subcommand(
      "compare", "hecto beside testpmd and other installed routers: same ports, traffic, core");
  const auto options = std::make_shared<CompareOptions>();
  describe(*command, *options);
  command->callback([&work, options] { work = [options] { return compare(*options); }; });
}

}  // namespace hecto::bench
